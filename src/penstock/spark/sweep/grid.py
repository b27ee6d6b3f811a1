"""The points of a sweep: the values that replace those of a scenario file.

1. A parameter is ``PATH=VALUES``.  Values are a list ``a,b,c`` or a range ``first:last:step`` that
   includes both ends.  ``true``, ``false`` and numbers are parsed as such; the rest is text.
2. A path leads through the scenario file, with dots, such as
   ``links.pb-ib.bandwidth_bytes_per_s`` (penstock.lab.scenario.overrides).
3. The points are all combinations.  Each is substituted and checked like a file of its own, so that
   errors are found before anything runs.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.expectations import title_of
from penstock.lab.scenario.file import NAME, load_scenario, parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.overrides import overridden
from penstock.spark.sweep.measures import MEASURES

Value: TypeAlias = str | int | float | bool
Point: TypeAlias = dict[str, Value]
"""A value for each path, as the paths were given."""

MAX_RUNS: Final = 10_000
"""Points times seeds: hours of a large machine; bounds what one command starts by mistake."""


class SweepError(ValueError):
    """A sweep cannot be run; the message names the parameter and the remedy."""


class Grid(msgspec.Struct, frozen=True):
    """A scenario file, and the points at which it is run."""

    raw: dict[str, Any]
    parameters: dict[str, list[Value]]
    points: list[Point]
    name: str
    """The scenario's name, or the file's if that cannot name files and runs."""

    def scenario(self, point: Mapping[str, Value]) -> Scenario:
        return scenario_at(self.raw, point)

    def measures(self) -> dict[str, str]:
        """The measures of its runs with their descriptions; the first is the default."""
        expected = {title_of(each): each.why for each in self.scenario(self.points[0]).expect}
        if "guaranteed" in self.services:
            return MEASURES | expected
        return expected | MEASURES

    @property
    def services(self) -> tuple[str, ...]:
        """The services that have clients."""
        return self.scenario(self.points[0]).services


def build_grid(path: Path, texts: Sequence[str]) -> Grid:
    """Read and check everything; raises ``ScenarioError`` or ``SweepError``."""
    load_scenario(path)
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    parameters: dict[str, list[Value]] = {}
    for text in texts:
        name, values = parse_parameter(text)
        if name in parameters:
            raise SweepError(f"--param {text}: {name} is given twice; give all its values at once")
        parameters[name] = values
    combinations = itertools.product(*parameters.values())
    points = [dict(zip(parameters, values, strict=True)) for values in combinations]
    for point in points:
        try:
            scenario_at(raw, point)
        except ScenarioError as error:
            at = ", ".join(f"{name}={value}" for name, value in point.items())
            raise SweepError(f"--param {at}: {error}") from None
    own = str(raw["name"])
    return Grid(raw, parameters, points, own if NAME.fullmatch(own) else path.stem)


def parse_parameter(text: str) -> tuple[str, list[Value]]:
    """Parse ``PATH=VALUES``; raises ``SweepError``."""
    name, separator, values = text.partition("=")
    if not (separator and name and values):
        raise SweepError(
            f"--param {text}: write PATH=a,b,c or PATH=first:last:step, "
            "such as congestion.recovering_threshold=0.5:2:0.5"
        )
    if ":" in values and "," not in values:
        return name, _range(text, values)
    found = [_value(each) for each in values.split(",")]
    if len(set(map(repr, found))) < len(found) or "" in found:
        raise SweepError(f"--param {text}: a value is empty or given twice")
    return name, found


def _range(text: str, values: str) -> list[Value]:
    try:
        first, last, step = (Decimal(part) for part in values.split(":"))
        finite = all(each.is_finite() for each in (first, last, step))
    except (InvalidOperation, ValueError):
        raise SweepError(f"--param {text}: a range is first:last:step, three numbers") from None
    if not finite or step <= 0 or last < first:
        raise SweepError(
            f"--param {text}: the step must be positive and the last not before the first"
        )
    count = int((last - first) / step) + 1
    if count > MAX_RUNS:
        raise SweepError(f"--param {text}: {count} values; at most {MAX_RUNS} runs are allowed")
    return [_value(str(first + number * step)) for number in range(count)]


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def scenario_at(raw: Mapping[str, Any], point: Mapping[str, Value]) -> Scenario:
    """A scenario file with substituted values, checked; raises ``ScenarioError``."""
    return parse_scenario(overridden(raw, point))
