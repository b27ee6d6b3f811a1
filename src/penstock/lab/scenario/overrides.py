"""Substitutes single values in the tables of a scenario file, by path.

1. A path leads through the file, with dots: ``duration_s``, ``parameters.datagram.law``,
   ``links.pb-ib.bandwidth_bytes_per_s``, ``brokers.pb.pubends``, ``clients.p.rate_msgs_per_s``.
2. One of several tables is chosen by its name, a link by its two ends, any by its number from 0
   (``faults.0.at_s``).  A table that stands for several is chosen by its name without ``{i}``.
3. ``guaranteed.…`` and ``congestion.…`` are short for ``parameters.guaranteed.…`` and
   ``parameters.guaranteed.congestion.…``.
4. The result is not checked: read it as a scenario (scenario/file.py).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.numbering import NUMBER

SHORT: Final[Mapping[str, tuple[str, ...]]] = {
    "guaranteed": ("parameters", "guaranteed"),
    "congestion": ("parameters", "guaranteed", "congestion"),
}


def overridden(raw: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a file with these values by path; raises ``ScenarioError``."""
    changed = copy.deepcopy(dict(raw))
    for path, value in values.items():
        first, *rest = path.split(".")
        _put(changed, [*SHORT.get(first, (first,)), *rest], path, value)
    return changed


def _put(raw: dict[str, Any], steps: list[str], path: str, value: Any) -> None:
    """Set the value at the end of the way; tables on the way that are missing are made."""
    at: Any = raw
    while True:
        place: Any = steps[0]
        taken = 1
        if isinstance(at, list):
            place, taken = _chosen(at, steps, path)
        steps = steps[taken:]
        if not steps:
            break
        at = at.setdefault(place, {}) if isinstance(at, dict) else at[place]
        if not isinstance(at, dict | list):
            raise ScenarioError(f"{path}: {place!r} is a value, not a table")
    if isinstance(at, list) and isinstance(at[place], dict | list):
        raise ScenarioError(f"{path}: name one table and a key, such as {path}.KEY")
    at[place] = value


def _chosen(listed: Sequence[Any], steps: Sequence[str], path: str) -> tuple[int, int]:
    """The place of one of several tables or values, and how many steps name it.

    A name may contain dots, so the longest name that the steps begin with is meant.
    """
    names = [_names_of(each) for each in listed]
    for taken in range(len(steps), 0, -1):
        wanted = ".".join(steps[:taken])
        for place, known in enumerate(names):
            if wanted in known:
                return place, taken
    if steps[0].isdecimal() and int(steps[0]) < len(listed):
        return int(steps[0]), 1
    there = ", ".join(each[0] for each in names if each[0]) or f"0 to {len(listed) - 1}"
    raise ScenarioError(f"{path}: there is no {steps[0]!r}; there are: {there}")


def _names_of(listed: Any) -> tuple[str, ...]:
    """What a table can be chosen by."""
    if not isinstance(listed, dict):
        return ("",)
    ends = listed.get("between") or listed.get("ends") or ()
    name = str(listed.get("name") or "-".join(map(str, ends)))
    return (name, NUMBER.sub("", name)) if "{" in name else (name,)
