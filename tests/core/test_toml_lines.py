from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.core.toml_lines import key_lines, line_of

TEXT = '''\
# a comment with [brackets] and = signs
name = "a \\" # [quoted]"
description = """
two = 2
[not.a.table] \\"""
"""
literal = \'\'\'
[[neither]]
\'\'\'
"quoted key" = 1
dotted.key.here = 3
points = [
    [0, 1],  # the first
    [2.5, 3],
    { x = 1, y = [2,
      3] },
]
inline = { first = "}", second = { third = 3 } }
when = 1979-05-27 07:32:00

[limits]
max_sessions = 3

[[brokers]]
name = "b1"
[brokers.queues.work]
law = "paper"

[[brokers]]
name = "sb{i+1}"
count = 2
queues.play.depth = 4
[[brokers.streams]]
[[brokers.streams]]
key = 1
[brokers."odd.name"]
key = 2

[[clients]]
name = "p"
count = 3
rate = 5
'''


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("name", 'name = "a'),
        ("description", "description ="),
        ("literal", "literal ="),
        ("quoted key", '"quoted key"'),
        ("dotted", "dotted.key.here"),
        ("dotted.key.here", "dotted.key.here"),
        ("dotted.other", "dotted.key.here"),
        ("points", "points = ["),
        ("points[0]", "    [0, 1]"),
        ("points[1][1]", "    [2.5, 3]"),
        ("points[2].x", "    { x = 1"),
        ("points[2].y[1]", "      3] }"),
        ("points[7]", "points = ["),
        ("inline.first", "inline ="),
        ("inline.second.third", "inline ="),
        ("when", "when ="),
        ("limits", "[limits]"),
        ("limits.max_sessions", "max_sessions"),
        ("limits.max_sesions", "[limits]"),
        ("brokers", "[[brokers]]"),
        ("brokers[0].name", 'name = "b1"'),
        ("brokers[0].queues", "[brokers.queues.work]"),
        ("brokers[0].queues.work.law", 'law = "paper"'),
        ("brokers[0].queues.play", "[brokers.queues.work]"),
        ("brokers[1].name", 'name = "sb'),
        ("brokers[1].queues.play.depth", "queues.play.depth"),
        ("brokers[1].streams[1].key", "key = 1"),
        ("brokers[1].odd.name.key", "key = 2"),
        ("brokers 'b1'.queues.work", "[brokers.queues.work]"),
        ("brokers 'sb2'.count", "count = 2"),
        ("clients 'p'.rate", "rate = 5"),
        ("clients 'p2'.rate", "rate = 5"),
        ("clients[0].rate: expected a number: 3", "rate = 5"),
    ],
)
def test_the_line_of_a_path(path: str, part: str) -> None:
    line = line_of(TEXT, path)
    assert line is not None
    assert TEXT.splitlines()[line - 1].startswith(part)


@pytest.mark.parametrize(
    "path",
    ["", "nothing", "names", "lim", "two", "not.a.table", "neither", "a comment", "brokers 'sb'"],
)
def test_what_does_not_stand_in_the_text_has_no_line(path: str) -> None:
    assert line_of(TEXT, path) is None


def test_the_second_of_two_equal_headers_is_a_table_of_its_own() -> None:
    assert line_of(TEXT, "brokers[0]") == 24
    assert line_of(TEXT, "brokers[1]") == 29
    assert line_of(TEXT, "brokers[1].other") == 29


def test_a_text_that_is_not_toml_has_no_lines() -> None:
    assert line_of("name = ", "name") is None


def paths_in(value: Any, path: str = "") -> Iterator[str]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths_in(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from paths_in(each, f"{path}[{number}]")


ROOT = Path(__file__).parents[2]
FILES = [TEXT, *(each.read_text() for each in sorted(ROOT.glob("**/scenarios/*.toml")))]


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_every_path_of_a_text_is_found_and_no_other(text: str) -> None:
    assert set(key_lines(text)) == set(paths_in(tomllib.loads(text)))


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_a_key_stands_on_its_line(text: str) -> None:
    lines = text.splitlines()
    for path, line in key_lines(text).items():
        last = path.split(".")[-1].partition("[")[0]
        assert "[" in path or last in lines[line - 1]
