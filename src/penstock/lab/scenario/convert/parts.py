"""What the converters of all former forms have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.core.configuration import NAME, suggestion
from penstock.lab.scenario.error import ScenarioError


class NotConvertible(ScenarioError):
    """A scenario of a former form cannot be converted; the message names the key."""


def head(raw: Mapping[str, Any], duration_s: float | None = None) -> dict[str, Any]:
    """Name, description and duration; a name must be usable in the names of files."""
    name = str(needed(raw, "name"))
    description = str(raw.get("description") or raw.get("purpose") or "")
    new: dict[str, Any] = {"name": file_name(name)}
    if not description and new["name"] != name:
        description = name
    if description:
        new["description"] = description
    return {**new, "duration_s": duration_s or needed(raw, "duration_s")}


def needed(raw: Mapping[str, Any], key: str, where: str = "") -> Any:
    """The value of a key that must be there."""
    if key not in raw:
        raise NotConvertible(f"{where}{key}: missing; add it")
    return raw[key]


def only(raw: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
    """Refuse keys that the form did not have."""
    names = list(known)
    for key in raw:
        if key not in names:
            raise NotConvertible(f"{where}{key}: unknown key; {suggestion(key, names)}")


def chosen(raw: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """These keys with their values, as far as they are there."""
    return {key: raw[key] for key in keys if key in raw}


def number_of(raw: Mapping[str, Any], key: str, default: float | None = None) -> float:
    """A number of the file, or its default."""
    value = raw.get(key, default)
    if value is None:
        raise NotConvertible(f"{key}: missing; add it")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotConvertible(f"{key}: expected a number, got {value!r}")
    return value


def bounds_of(raw: Mapping[str, Any], *names: str) -> dict[str, float]:
    """The bounds of a table ``[expect]`` that had one key for each of them."""
    table = raw.get("expect", {})
    if not isinstance(table, dict):
        raise NotConvertible("expect: expected a table, such as [expect]")
    only(table, names, "expect.")
    return {name: number_of(table, name) for name in names if name in table}


def tidy(value: float) -> float:
    """A computed number without the noise of its last digits, whole if it can be."""
    rounded = round(value, 9)
    return int(rounded) if rounded == int(rounded) else rounded


def file_name(name: str) -> str:
    """A name as it can stand in the names of files and runs."""
    if NAME.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:64] or "scenario"


def tables_of(raw: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """Tables by name."""
    found = raw.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise NotConvertible(f"{key}: expected one table for each, such as [{key}.NAME]")
    return found


def listed(raw: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of tables; none if the key is not there."""
    found = raw.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise NotConvertible(f"{key}: expected a list of tables, each under [[{key}]]")
    return found
