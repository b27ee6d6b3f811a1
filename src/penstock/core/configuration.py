"""Reads tables of TOML into structs; every mistake is told with its key and what to do.

1. A key that is not known is refused with the nearest one that is: a misspelt limit that silently
   does nothing is found out too late.
2. Types and ranges are those of the struct's fields.  A field of struct type is a table of its own;
   a field ``dict[str, Struct]`` is one table for each name, and a struct that has a field ``name``
   is told that name.
3. Errors are ``ConfigError``: the key as it stands in the file, a colon, and what to do.
"""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names stand in log file names, on the command line and in telemetry; "/" and "@" mark the names
that a broker makes up itself (sessions, internal links)."""

Table = TypeVar("Table", bound=msgspec.Struct)


class ConfigError(ValueError):
    """The configuration cannot be used; the message names the key and what to do."""


def check_name(key: str, name: str) -> None:
    """Raise ``ConfigError`` unless ``name`` can name a broker, a stream or a queue."""
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{key}: {name!r} is not a name; use up to 64 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit"
        )


def unknown_key(where: str, key: str, known: Iterable[str]) -> ConfigError:
    """The error for a key that no struct has."""
    names = list(known)
    close = difflib.get_close_matches(key, names, 1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}"
    return ConfigError(f"{joined(where, key)}: unknown key; {hint}")


def read_table(kind: type[Table], raw: object, where: str = "") -> Table:
    """One table as a struct; ``where`` is its key in the file, empty for the file itself."""
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where}: expected a table, such as [{where}]")
    types = field_types(kind)
    read = {}
    for key, value in raw.items():
        if key not in types:
            raise unknown_key(where, key, types)
        read[key] = _read_field(types[key], value, joined(where, key))
    try:
        return msgspec.convert(read, kind)
    except msgspec.ValidationError as error:
        raise _explained(error, where) from None


def field_types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields of a struct, with their types."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def joined(where: str, key: str) -> str:
    """A key inside a table."""
    return f"{where}.{key}" if where and key else where or key


def _read_field(kind: Any, value: object, where: str) -> object:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return read_table(kind, value, where)
    each = _struct_by_name(kind)
    return value if each is None else _read_tables(each, value, where)


def _struct_by_name(kind: Any) -> type[msgspec.Struct] | None:
    """The struct of a field ``dict[str, Struct]``."""
    if typing.get_origin(kind) is not dict:
        return None
    each = typing.get_args(kind)[1]
    return each if isinstance(each, type) and issubclass(each, msgspec.Struct) else None


def _read_tables(kind: type[Table], raw: object, where: str) -> dict[str, Table]:
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where}: expected one table for each, such as [{where}.name]")
    named = "name" in kind.__struct_fields__
    read = {}
    for name, value in raw.items():
        check_name(joined(where, name), name)
        told = {**value, "name": name} if named and isinstance(value, Mapping) else value
        read[name] = read_table(kind, told, joined(where, name))
    return read


def _explained(error: msgspec.ValidationError, where: str) -> ConfigError:
    """A validation error as ``key: what is wrong``."""
    problem, _, at = str(error).partition(" - at `$")
    if missing := re.search(r"missing required field `(\w+)`", problem):
        return ConfigError(f"{joined(where, missing[1])}: missing; add it")
    key = at.rstrip("`").lstrip(".")
    text = problem[:1].lower() + problem[1:].replace("`", "")
    return ConfigError(f"{joined(where, key)}: {text}")
