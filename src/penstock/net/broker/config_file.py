"""Writes a configuration to a file, for programs that start brokers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.core.toml_text import toml_text
from penstock.net.broker.config import BrokerConfig


def write_config(path: Path, config: BrokerConfig) -> None:
    """Write all keys that differ from their defaults, as TOML that ``load_config`` reads."""
    path.write_text(dump_config(config), encoding="utf-8")


def dump_config(config: BrokerConfig) -> str:
    """Return the text that ``write_config`` writes."""
    differing = _differing(config)
    differing.pop("tables", None)
    for table in config.tables:
        differing |= _differing(table)
    return toml_text(differing)


def _differing(value: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct that are not at their default."""
    kept = {}
    for field in msgspec.structs.fields(value):
        current = getattr(value, field.name)
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        else:
            default = field.default
        if current != default:
            kept[field.name] = _plain(current)
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _differing(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value
