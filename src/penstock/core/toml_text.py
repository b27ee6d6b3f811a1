"""Writes tables as TOML text that reads back equal.

1. The values of a table stand before the tables within it, as TOML requires.
2. A table has a header.  A list of tables is an array of tables (``[[links]]``); a table within one
   of them stands on one line if it fits there.
3. A list that does not fit on one line has one element on each line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

HasHeader: TypeAlias = Callable[[str, Any], bool]

BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
WIDTH: Final = 100
"""How long a line may become before a table or list is broken up."""
GROUPED: Final = 10_000
"""From this number on, digits are grouped."""


def toml_text(tables: Mapping[str, Any]) -> str:
    """The text of a file with these tables."""
    return "\n".join(_lines(tables, "", _has_header)).lstrip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: str, has_header: HasHeader) -> Iterator[str]:
    """The values of a table, then the tables within it."""
    inner = {key: value for key, value in table.items() if has_header(key, value)}
    for key, value in table.items():
        if key not in inner:
            yield from _pair(key, value)
    for key, value in inner.items():
        below = f"{path}.{_key(key)}" if path else _key(key)
        if isinstance(value, Mapping):
            if not value or not all(has_header(name, each) for name, each in value.items()):
                yield f"\n[{below}]"
            yield from _lines(value, below, has_header)
        else:
            for each in value:
                yield f"\n[[{below}]]"
                yield from _lines(each, below, _has_header_within_array)


def _has_header(key: str, value: Any) -> bool:
    """Whether a value is written as a table, or tables, with a header."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping)


def _has_header_within_array(key: str, value: Any) -> bool:
    return isinstance(value, Mapping) and not _fits(key, value)


def _fits(key: str, value: Any) -> bool:
    return len(f"{_key(key)} = {_value(value)}") <= WIDTH


def _pair(key: str, value: Any) -> Iterator[str]:
    if not isinstance(value, list | tuple) or _fits(key, value):
        yield f"{_key(key)} = {_value(value)}"
        return
    yield f"{_key(key)} = ["
    for each in value:
        yield f"    {_value(each)},"
    yield "]"


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _string(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int():
            return f"{value:_}" if abs(value) >= GROUPED else str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case Mapping():
            inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            raise TypeError(f"TOML has no value for {value!r}")


def _string(text: str) -> str:
    # A JSON string is valid TOML too, but TOML requires DEL escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
