"""Reads TOML tables into structs, with errors that name the key and the remedy.

1. Every key must be known, because a misspelt limit that silently does nothing is noticed too late.
   The error for an unknown key suggests the nearest known one.  Structs that are read here must be
   declared with ``forbid_unknown_fields``.
2. An error names the key with its whole path as in the file, such as ``neighbours.b2.cost`` or
   ``links[1].loss``, then what is wrong, then what to do.
3. ``msgspec`` converts a file in one step.  It does not tell the name of a table in a dictionary,
   nor which keys are known, so after a refusal the tables are checked one by one to find the
   mistake.
4. An error about a file begins with the file and the line on which the key stands, if it stands
   there: ``read_file`` adds both (core/toml_lines.py).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from penstock.core.toml_lines import line_of

Table = TypeVar("Table", bound=msgspec.Struct)
Read = TypeVar("Read")

UNKNOWN: Final = re.compile(r"unknown field `(.+)`")
MISSING: Final = re.compile(r"missing required field `(.+)`")
"""The two errors of ``msgspec`` that name a key in their text instead of their path."""

NOT_TOML: Final = "not TOML: "
LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")
"""How ``tomllib`` tells the place of a mistake in the syntax, unless it is the end of the text."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names stand in log file names, on the command line and in telemetry; "/" and "@" mark the names
that a broker makes up itself (sessions, internal links)."""


class ConfigurationError(ValueError):
    """A configuration cannot be used; the message names the key and what to do."""


def read_file(
    path: Path, error: type[ConfigurationError], read: Callable[[dict[str, Any]], Read]
) -> Read:
    """What ``read`` makes of the tables of a file; every problem is raised as ``error``.

    The error begins with the file and the line that it is about.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise error(f"{path}: cannot be read: {problem}") from None
    try:
        return read(parse_toml(text))
    except ConfigurationError as problem:
        raise error(f"{path}{_line_in(text, str(problem))}: {problem}") from None


def _line_in(text: str, problem: str) -> str:
    """``:LINE`` of an error, if it is about a line."""
    if problem.startswith(NOT_TOML):
        place = LINE.search(problem)
        return f":{place[1]}" if place else f":{max(1, len(text.splitlines()))}"
    line = line_of(text, problem)
    return "" if line is None else f":{line}"


@contextmanager
def raised_as(error: type[ConfigurationError]) -> Iterator[None]:
    """Raise every problem of a configuration as one type."""
    try:
        yield
    except ConfigurationError as problem:
        raise error(str(problem)) from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text; raises ``ConfigurationError``."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{NOT_TOML}{error}") from None


def read_table(
    kind: type[Table], raw: Mapping[str, Any], where: str = "", *, str_keys: bool = False
) -> Table:
    """A table as a struct; raises ``ConfigurationError``.

    ``where`` is the path of the table in its file.  ``str_keys`` accepts texts as keys of
    dictionaries that are declared with numbers, because TOML has no others.
    """
    try:
        return msgspec.convert(raw, kind, str_keys=str_keys)
    except msgspec.ValidationError as error:
        _check_table(kind, raw, where, str_keys=str_keys)
        raise ConfigurationError(_explained(error, where)) from None


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown word."""
    names = list(known)
    close = difflib.get_close_matches(word, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known are {', '.join(names)}" if names else "none is known here"


def field_types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The keys of a table, with their types."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def check_name(key: str, name: str) -> None:
    """Raise ``ConfigurationError`` unless ``name`` can name a broker, a stream or a queue."""
    if not NAME.fullmatch(name):
        raise ConfigurationError(
            f"{key}: {name!r} is not a name; use up to 64 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit"
        )


def check_keys(raw: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise ``ConfigurationError`` for a key at the top of a file that nothing knows."""
    names = list(known)
    for key in raw:
        if key not in names:
            raise ConfigurationError(f"{key}: unknown key; {suggestion(key, names)}")


def with_names(kind: type[msgspec.Struct], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Tables with the names that they stand under, where their structs have a field ``name``."""
    named = dict(raw)
    for key, annotation in field_types(kind).items():
        each = _struct_in(annotation)
        tables = raw.get(key)
        if each is None or _container_in(annotation) is not dict or not isinstance(tables, dict):
            continue
        for name in tables:
            check_name(_joined(key, name), name)
        if "name" in each.__struct_fields__:
            named[key] = {
                name: {**table, "name": name} if isinstance(table, dict) else table
                for name, table in tables.items()
            }
    return named


# -- finding the mistake ---------------------------------------------------------------------------


def _check_table(kind: type[msgspec.Struct], raw: Any, where: str, *, str_keys: bool) -> None:
    """Raise for the first mistake in a table and the tables within it."""
    if not isinstance(raw, Mapping):
        raise ConfigurationError(f"{where}: expected a table, such as [{where}]")
    types = field_types(kind)
    for key, value in raw.items():
        at = _joined(where, key)
        if key not in types:
            raise ConfigurationError(f"{at}: unknown key; {suggestion(key, types)}")
        for inner, table, path in _tables_in(types[key], value, at):
            _check_table(inner, table, path, str_keys=str_keys)
    try:
        msgspec.convert(raw, kind, str_keys=str_keys)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_explained(error, where)) from None


def _tables_in(
    annotation: Any, value: Any, where: str
) -> Iterator[tuple[type[msgspec.Struct], Any, str]]:
    """The tables that a value holds: one, or one for each name, or a list of them."""
    kind = _struct_in(annotation)
    if kind is None:
        return
    holds = _container_in(annotation)
    if holds is None:
        if value is not None:
            yield kind, value, where
    elif issubclass(holds, dict):
        if not isinstance(value, Mapping):
            raise ConfigurationError(
                f"{where}: expected one table for each, such as [{where}.name]"
            )
        for name, each in value.items():
            yield kind, each, _joined(where, name)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield kind, each, f"{where}[{number}]"


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The struct that a field holds as a table, if there is exactly one."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return None if annotation.__struct_config__.array_like else annotation
    found = {kind for each in getattr(annotation, "__args__", ()) if (kind := _struct_in(each))}
    return found.pop() if len(found) == 1 else None


def _container_in(annotation: Any) -> type | None:
    """The collection that a field is declared with, also as an alternative to None."""
    origin = getattr(annotation, "__origin__", None)
    if isinstance(origin, type) and issubclass(origin, dict | list | tuple):
        return origin
    inner = (_container_in(each) for each in getattr(annotation, "__args__", ()))
    return next((each for each in inner if each is not None), None)


def _explained(error: msgspec.ValidationError, where: str) -> str:
    """An error of ``msgspec`` as ``key: what is wrong``."""
    what, _, at = str(error).partition(" - at `$")
    path = _joined(where, at.rstrip("`").lstrip("."))
    if unknown := UNKNOWN.search(what):
        return f"{_joined(path, unknown[1])}: unknown key; remove it"
    if missing := MISSING.search(what):
        return f"{_joined(path, missing[1])}: missing; add it"
    return f"{path or 'the file'}: {what[:1].lower()}{what[1:].replace('`', '')}"


def _joined(where: str, key: object) -> str:
    return f"{where}.{key}" if where and key else where or str(key)
