"""Finds the line of a TOML text on which a key stands, for errors that name the line.

``tomllib`` tells no places, so the text is read a second time for its structure alone:

1. Every key, table and element has a path, as errors write it: ``limits.max_sessions``,
   ``clients[3].rate_msgs_per_s``, ``brokers[0].queues.work``.  A path stands on the line of its
   key, of its table's header, or of the beginning of its element.
2. A table of an array may also be chosen by its ``name``: ``clients 'p2'.stop_s``.  A table that
   stands for several (``count``) is found by the name of each of them.
3. Of a path that does not stand in the text, the longest part that does is found: a missing key is
   told with the line of its table.
4. The text must be TOML; a text that is not has no lines to find.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

VOID: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
"""Space, line ends and comments."""
STRING: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'", re.DOTALL
)
BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
DOT: Final = re.compile(r"[ \t]*(\.?)[ \t]*")
SCALAR: Final = re.compile(r"[^,\]}#\n]+")
BY_NAME: Final = re.compile(r"([A-Za-z0-9_-]+) '([^']*)'")
NUMBER: Final = re.compile(r"\{i[^}]*\}")
"""What stands for a number in the name of a table with ``count``."""


def line_of(text: str, path: str) -> int | None:
    """The line of a key path, from 1, or of its longest part that is in the text.

    Anything may follow the path after a colon, so that a whole error can be given.
    """
    try:
        path = _numbered(path, tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return None
    lines = key_lines(text)
    parts = [known for known in lines if _begins_with(path, known)]
    return lines[max(parts, key=len)] if parts else None


def key_lines(text: str) -> dict[str, int]:
    """The line of every key, table and element of a TOML text, by path."""
    return _Structure(text).lines


def _begins_with(path: str, part: str) -> bool:
    return path.startswith(part) and path[len(part) : len(part) + 1] in ("", ".", "[", ":")


def _numbered(path: str, raw: dict[str, Any]) -> str:
    """The path with the number of a table that is chosen by its name."""
    if (chosen := BY_NAME.match(path)) and isinstance(tables := raw.get(chosen[1]), list):
        names = [str(each.get("name", "")) if isinstance(each, dict) else "" for each in tables]
        place = _place(names, chosen[2])
        if place is not None:
            return f"{chosen[1]}[{place}]{path[chosen.end() :]}"
    return path


def _place(names: list[str], name: str) -> int | None:
    if name in names:
        return names.index(name)
    for place, each in enumerate(names):
        several = each if NUMBER.search(each) else f"{each}{{i}}"
        pattern = r"\d+".join(map(re.escape, NUMBER.split(several)))
        if each and re.fullmatch(pattern, name):
            return place
    return None


class _Structure:
    """One pass over a text that is TOML."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self._text = text
        self._at = 0
        self._ends = [found.end() for found in re.finditer("\n", text)]
        self._sizes: dict[str, int] = {}
        """How many tables each array of tables has so far."""
        table = ""
        for start in self._each_line():
            if text[start] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _each_line(self) -> Iterator[int]:
        while True:
            self._skip(VOID)
            if self._at >= len(self._text):
                return
            yield self._at

    def _header(self) -> str:
        """``[a.b]`` or ``[[a.b]]``: the path of the table that begins."""
        line = self._line()
        several = self._text.startswith("[[", self._at)
        self._at += 2 if several else 1
        *way, last = self._keys()
        self._at += 2 if several else 1
        path = ""
        for key in way:
            path = self._last_of(_joined(path, key))
            self.lines.setdefault(path, line)
        path = _joined(path, last)
        if several:
            self.lines.setdefault(path, line)
            number = self._sizes.get(path, 0)
            self._sizes[path] = number + 1
            path = f"{path}[{number}]"
        self.lines[path] = line
        return path

    def _last_of(self, path: str) -> str:
        """A key on the way to a table: of an array of tables the last one is meant."""
        return f"{path}[{self._sizes[path] - 1}]" if path in self._sizes else path

    def _pair(self, table: str) -> None:
        """``a.b = value``."""
        line = self._line()
        path = table
        for key in self._keys():
            path = _joined(path, key)
            self.lines.setdefault(path, line)
        self._at = self._text.index("=", self._at) + 1
        self._value(path)

    def _value(self, path: str) -> None:
        self._skip(VOID)
        match self._text[self._at]:
            case "[":
                for number in self._elements("]"):
                    element = f"{path}[{number}]"
                    self.lines[element] = self._line()
                    self._value(element)
            case "{":
                for _ in self._elements("}"):
                    self._pair(path)
            case '"' | "'":
                self._skip(STRING)
            case _:
                self._skip(SCALAR)

    def _elements(self, end: str) -> Iterator[int]:
        """The numbers of what stands between brackets; each is read before the next is asked."""
        self._at += 1
        number = 0
        while True:
            self._skip(VOID)
            if self._text[self._at] == end:
                self._at += 1
                return
            yield number
            number += 1
            self._skip(VOID)
            if self._text[self._at] == ",":
                self._at += 1

    def _keys(self) -> list[str]:
        """The parts of a dotted key."""
        keys: list[str] = []
        while True:
            self._skip(VOID)
            if quoted := STRING.match(self._text, self._at):
                keys.extend(tomllib.loads(f"{quoted[0]} = 0"))
                self._at = quoted.end()
            else:
                keys.append(self._skip(BARE))
            if not self._skip(DOT).strip():
                return keys

    def _skip(self, what: re.Pattern[str]) -> str:
        found = what.match(self._text, self._at)
        assert found is not None, "the text is TOML"
        self._at = found.end()
        return found[0]

    def _line(self) -> int:
        return bisect_right(self._ends, self._at) + 1


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
