"""A scenario as the text of a file that reads back equal.

Keys that have their default value are left out.  A broker's keys for services stand beside its
others, as in every file, and so do those of a reconfigured broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from penstock.core.toml_text import toml_text
from penstock.lab.scenario.model import Broker, Reconfiguration, Scenario

SET_BY_NUMBERING: Final = ("group_of",)
"""Keys of clients that no file has."""


def to_toml(scenario: Scenario) -> str:
    """The text of a file with this scenario."""
    return toml_text(to_tables(scenario))


def to_tables(scenario: Scenario) -> dict[str, Any]:
    """The tables of a file with this scenario, as ``tomllib`` would read them."""
    tables: dict[str, Any] = _plain(scenario)
    return tables


def _plain(value: Any) -> Any:
    """A value of a scenario as a value of TOML."""
    match value:
        case Broker() | Reconfiguration():
            table = _table(value)
            keys = table.pop("keys", {})
            return {**table, **keys}
        case msgspec.Struct() if value.__struct_config__.array_like:
            return [_number(each) for each in msgspec.structs.astuple(value)]
        case msgspec.Struct():
            return _table(value)
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _table(value: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct that do not have their default value."""
    return {
        field.encode_name: _number(_plain(getattr(value, field.name)))
        for field in msgspec.structs.fields(value)
        if field.name not in SET_BY_NUMBERING and getattr(value, field.name) != default_of(field)
    }


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """The value of a field that is not given; ``msgspec.NODEFAULT`` if it must be given."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _number(value: Any) -> Any:
    """A whole number without a decimal point: the fields of tables take both."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
