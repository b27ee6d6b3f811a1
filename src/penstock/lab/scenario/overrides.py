"""Replaces single values of a scenario file, each named by its path.

A path leads through the file, with dots: ``duration_s``, ``links.pb-ib.bandwidth_bytes_per_s``,
``clients.p.rate_msgs_per_s``, ``faults.0.at_s``.  One of several tables is chosen by its name, a
link by its two ends, or any by its number from 0.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.lab.scenario.error import ScenarioError


def overridden(raw: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The file's tables with these values by path; raises ``ScenarioError``."""
    changed = copy.deepcopy(dict(raw))
    for path, value in values.items():
        _put(changed, path.split("."), path, value)
    return changed


def _put(raw: dict[str, Any], steps: Sequence[str], path: str, value: Any) -> None:
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
    return str(listed.get("name") or "-".join(map(str, listed.get("between", ()))))
