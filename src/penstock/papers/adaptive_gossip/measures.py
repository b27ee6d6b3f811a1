"""What the table of the adaptive gossip paper measures.

Every kind of run has a window: buffers and laws need time to settle, and events of the last rounds
have had no time to spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Final

import numpy as np

from penstock.core.clock import Instant
from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.results import Of
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.telemetry import Point
from penstock.papers.adaptive_gossip.experiments import OFFERED, ideal_keys
from penstock.services.gossip.telemetry import ALLOWED, DROPPED, DROPPED_AGES, ROUNDS

TARGET_SHARE: Final = 0.95
"""*Reliable* means that an event reaches this share of the peers, on average (Section 2.3)."""

STABLE_WITHIN: Final = 0.05
"""A rate is stable from the round after which it stays within this distance of its later mean: one
step of the paper's law (r_H and r_L are 5 %)."""

SMOOTHED_ROUNDS: Final = 5
"""Rates are averaged over this many rounds before stability is judged."""

ROUND_S: Final = 5.0


def drop_age(result: RunResult, from_s: float) -> float:
    """The average age of the events that full buffers dropped from a second on."""
    since = result.instant(from_s)
    count, ages = (
        sum(_gain(points, since) for points in result.telemetry.series(metric).values())
        for metric in (DROPPED, DROPPED_AGES)
    )
    return ages / count if count else float("nan")


def _gain(points: Sequence[Point], since: Instant) -> float:
    """The growth of a count since an instant."""
    before = [value for at, value in points if at < since]
    return points[-1][1] - (before[-1] if before else 0.0)


class Window:
    """The measures of one kind of run, between two seconds."""

    def __init__(self, from_s: float, to_s: float) -> None:
        self.receivers = Measurement(metric="receivers", aggregate="mean", from_s=from_s, to_s=to_s)
        self.atomic = Measurement(metric="atomic", aggregate="mean", from_s=from_s, to_s=to_s)
        self.rate = Measurement(metric="published_rate", from_s=from_s, to_s=to_s)
        self.drop_age: Measure = partial(drop_age, from_s=from_s)

    def ideal_of(self, keys: Sequence[str]) -> tuple[Of, ...]:
        """What the ideal rate and the critical age are interpolated from."""
        return tuple(
            Of(key, each) for key in keys for each in (self.receivers, self.rate, self.drop_age)
        )


PLAIN: Final = Window(100, 180)
ADAPTIVE: Final = Window(550, 875)
SQUEEZED: Final = Window(600, 1000)
"""While a third of the buffers are at 45, after the law has adapted."""
ONE_POOR: Final = Window(400, 625)
SCALE: Final = Window(500, 675)
LIVE: Final = Window(8, 22)


def rounds_kept(result: RunResult, period_s: float) -> float:
    """The share of its rounds that the median peer ran: a busy machine skips rounds."""
    last = [points[-1][1] for points in result.telemetry.series(ROUNDS).values()]
    return median(last) * period_s / result.scenario.duration_s


def rounds_until_stable(result: RunResult, from_s: float, to_s: float) -> float:
    """Rounds from a second on until the allowed rate of all senders stays near its level."""
    allowed = curve(result, Measurement(metric=ALLOWED), "sum", ROUND_S)
    return settling_rounds([value for at_s, value in allowed if from_s <= at_s < to_s])


def settling_rounds(rates: Sequence[float]) -> float:
    """Rounds until a rate stays near its level, which is its mean over the last two thirds."""
    smooth = np.convolve(rates, np.ones(SMOOTHED_ROUNDS) / SMOOTHED_ROUNDS, mode="valid")
    level = smooth[len(smooth) // 3 :].mean()
    off = np.flatnonzero(np.abs(smooth / level - 1) > STABLE_WITHIN)
    # An average belongs to the middle of its rounds.
    return float(off[-1] + 1 + SMOOTHED_ROUNDS // 2) if len(off) else 0.0


# -- what several runs give together ---------------------------------------------------------------

Values = Sequence[Sequence[float]]
"""The values of several measures, each seed by seed."""


def ideal_rate_and_age(
    slower: Sequence[float], faster: Sequence[float], share: float = TARGET_SHARE
) -> tuple[float, float]:
    """The highest rate that reaches the share, and the age of drops there, from two runs.

    Each run gives its receivers, its rate and its age.  The misses fall exponentially with the
    copies of each event, which are inverse to the rate, so −ln(1 − share) and the age are
    interpolated over 1 / rate.
    """
    logs = [-np.log1p(-receivers) for receivers, _, _ in (slower, faster)]
    inverses = [1 / rate for _, rate, _ in (slower, faster)]
    part = (-np.log1p(-share) - logs[1]) / (logs[0] - logs[1])
    inverse = inverses[1] + part * (inverses[0] - inverses[1])
    age = faster[2] + part * (slower[2] - faster[2])
    return float(1 / inverse), float(age)


def _ideals(values: Values) -> list[tuple[float, float]]:
    return [ideal_rate_and_age(each[:3], each[3:6]) for each in zip(*values, strict=True)]


def ideal_rates(values: Values) -> list[float]:
    """The ideal rate of each seed, of what ``Window.ideal_of`` names."""
    return [rate for rate, _ in _ideals(values)]


def critical_ages(values: Values) -> list[float]:
    """The age of drops at the ideal rate, of each seed."""
    return [age for _, age in _ideals(values)]


def parts_of_ideal(values: Values) -> list[float]:
    """A rate by the ideal one, of each seed; the rate stands before what the ideal is made of.

    If the ideal exceeds the offered rate, the offered rate is the maximum.
    """
    rates, *rest = values
    pairs = zip(rates, ideal_rates(rest), strict=True)
    return [rate / min(ideal, float(OFFERED)) for rate, ideal in pairs]


def outputs(values: Values) -> list[float]:
    """The output rate: the input rate times the share of receivers."""
    return [rate * share for rate, share in zip(*values, strict=True)]


def part_of_ideal(law: str, buffer_events: int) -> tuple[Of, ...]:
    """What ``parts_of_ideal`` combines for a law and a buffer."""
    rate = Of(f"adaptive {buffer_events} {law}", ADAPTIVE.rate)
    return (rate, *PLAIN.ideal_of(ideal_keys(buffer_events)))
