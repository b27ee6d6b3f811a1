"""Writes a configuration to a file, for programs that start brokers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from penstock.net.broker.config import BrokerConfig

BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def write_config(path: Path, config: BrokerConfig) -> None:
    """Write all keys that differ from their defaults, as TOML that ``load_config`` reads."""
    path.write_text(dump_config(config), encoding="utf-8")


def dump_config(config: BrokerConfig) -> str:
    """Return the text that ``write_config`` writes."""
    differing = _differing(config)
    differing.pop("tables", None)
    for table in config.tables:
        differing |= _differing(table)
    return "\n".join(_lines(differing, ())) + "\n"


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


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield a table's own keys first, then its subtables, as TOML requires."""
    if path:
        yield f"\n[{'.'.join(map(_key, path))}]"
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key))


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    # JSON strings, numbers, booleans and arrays are valid TOML too, but TOML requires non-ASCII
    # characters unescaped and DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
