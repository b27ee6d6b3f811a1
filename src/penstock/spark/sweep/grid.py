"""The points of a sweep: the values that replace those of a scenario file.

1. A parameter is ``PATH=VALUES``.  Values are a list ``a,b,c`` or a range ``first:last:step`` that
   includes both ends.  ``true``, ``false`` and numbers are parsed as such; the rest is text.
2. A path leads through the scenario file, with dots: ``duration_s``,
   ``links.pb-ib.bandwidth_bytes_per_s``, ``publishers.p.rate_msgs_per_s``, ``faults.0.at_s``.  One
   of several tables is chosen by its name, a link by its two ends, or any by its number from 0.
   ``guaranteed.…`` and ``congestion.…`` are short for ``parameters.guaranteed.…`` and
   ``parameters.guaranteed.congestion.…``.
3. The points are all combinations.  Each is substituted and checked like a file of its own, so that
   errors are found before anything runs.
"""

from __future__ import annotations

import copy
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
from penstock.spark.sweep.measures import MEASURES

Value: TypeAlias = str | int | float | bool
Point: TypeAlias = dict[str, Value]
"""A value for each path, as the paths were given."""

MAX_RUNS: Final = 10_000
"""Points times seeds: hours of a large machine; bounds what one command starts by mistake."""

SHORT: Final = {
    "guaranteed": ("parameters", "guaranteed"),
    "congestion": ("parameters", "guaranteed", "congestion"),
}


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
    return parse_scenario(_changed(raw, point, SHORT))


def _changed(
    raw: Mapping[str, Any], point: Mapping[str, Value], short: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The file's tables with these values."""
    changed = copy.deepcopy(dict(raw))
    for path, value in point.items():
        first, *rest = path.split(".")
        _put(changed, (*short.get(first, (first,)), *rest), path, value)
    return changed


def _put(raw: dict[str, Any], steps: Sequence[str], path: str, value: Value) -> None:
    *way, key = steps
    at: Any = raw
    for step in way:
        at = _chosen(at, step, path) if isinstance(at, list) else at.setdefault(step, {})
        if not isinstance(at, dict | list):
            raise ScenarioError(f"{path}: {step!r} is a value, not a table")
    if isinstance(at, dict):
        at[key] = value
    elif isinstance(_chosen(at, key, path), dict | list):
        raise ScenarioError(f"{path}: name one table and a key, such as {path}.KEY")
    else:
        at[int(key)] = value


def _chosen(listed: list[Any], step: str, path: str) -> Any:
    """One of several tables or values: by name, by the ends of a link, or by number."""
    names = [_name_of(each) for each in listed]
    if step in names:
        return listed[names.index(step)]
    if step.isdecimal() and int(step) < len(listed):
        return listed[int(step)]
    known = ", ".join(name for name in names if name) or f"0 to {len(listed) - 1}"
    raise ScenarioError(f"{path}: there is no {step!r}; there are: {known}")


def _name_of(listed: Any) -> str:
    if not isinstance(listed, dict):
        return ""
    ends = listed.get("between") or listed.get("ends") or ()
    return str(listed.get("name") or "-".join(map(str, ends)))
