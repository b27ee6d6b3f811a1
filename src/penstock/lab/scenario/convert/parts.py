"""What the converters of all former forms have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.core.configuration import NAME
from penstock.lab.scenario.error import ScenarioError


class NotConvertible(ScenarioError):
    """A scenario of a former form cannot be converted; the message names the key."""


def head(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Name, description and duration; a name must be usable in the names of files."""
    for key in ("name", "duration_s"):
        if key not in raw:
            raise NotConvertible(f"{key}: missing; add it")
    name = str(raw["name"])
    description = str(raw.get("description") or raw.get("purpose") or "")
    new: dict[str, Any] = {"name": file_name(name)}
    if not description and new["name"] != name:
        description = name
    if description:
        new["description"] = description
    return {**new, "duration_s": raw["duration_s"]}


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
