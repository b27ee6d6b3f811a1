"""Checks a run against the expectations of its scenario."""

from __future__ import annotations

import msgspec

from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Expectation, Measurement
from penstock.lab.telemetry.measure import NothingMeasured, measure


class Verdict(msgspec.Struct, frozen=True):
    """One expectation, what was measured, and whether it held."""

    what: str
    bound: str
    value: float | None
    held: bool
    problem: str = ""


def judge_expectations(result: RunResult) -> list[Verdict]:
    """The verdicts on all expectations of the run's scenario, in order."""
    return [_judge(result, expectation) for expectation in result.scenario.expect]


def title_of(expectation: Expectation) -> str:
    """Its name, or what it measures in words."""
    if expectation.name or expectation.divided_by is None:
        return expectation.name or _in_words(expectation)
    return f"{_in_words(expectation)} / {_in_words(expectation.divided_by)}"


def _judge(result: RunResult, expectation: Expectation) -> Verdict:
    what = title_of(expectation)
    bound = _bound(expectation)
    try:
        value = measure(result, expectation)
        if expectation.divided_by is not None:
            divisor = measure(result, expectation.divided_by)
            if not divisor:
                raise NothingMeasured(f"{_in_words(expectation.divided_by)} is 0")
            value /= divisor
    except NothingMeasured as error:
        return Verdict(what, bound, None, False, str(error))
    low, high = expectation.at_least, expectation.at_most
    held = (low is None or value >= low) and (high is None or value <= high)
    return Verdict(what, bound, value, held, "" if held else expectation.why)


def _in_words(measurement: Measurement) -> str:
    words = measurement.metric
    if measurement.aggregate is not None:
        words = f"{measurement.aggregate} {words}"
    if measurement.threshold is not None:
        words += f" ({measurement.threshold:g})"
    if measurement.service:
        words = f"{measurement.service} {words}"
    if measurement.subject:
        words += f" of {measurement.subject}"
    if measurement.node:
        words += f" at {measurement.node}"
    if measurement.from_s or measurement.to_s is not None:
        end = "the end" if measurement.to_s is None else f"{measurement.to_s:g} s"
        words += f", {measurement.from_s:g} s to {end}"
    return words


def _bound(expectation: Expectation) -> str:
    low, high = expectation.at_least, expectation.at_most
    if low is not None and high is not None:
        return f"{low:g} … {high:g}"
    return f"≥ {low:g}" if low is not None else f"≤ {high:g}"
