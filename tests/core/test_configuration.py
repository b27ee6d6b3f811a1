from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import msgspec.inspect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.configuration import (
    ConfigurationError,
    parse_toml,
    raised_as,
    read_file,
    read_table,
    suggestion,
)
from penstock.lab.scenario.model import Scenario
from penstock.lab.service import lab_services
from penstock.net.broker.config import BrokerConfig
from penstock.services.registry import broker_services

Positive = Annotated[int, msgspec.Meta(gt=0)]


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cost: Positive = 1
    address: str = ""


class Point(msgspec.Struct, frozen=True, array_like=True):
    at_s: float
    rate: float


class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    inner: Inner = Inner()
    maybe: Inner | None = None
    named: dict[str, Inner] = {}
    several: tuple[Inner, ...] = ()
    perhaps: list[Inner] | None = None
    numbered: dict[int, float] = {}
    words: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()


class ReadError(ConfigurationError):
    pass


def test_a_table_is_read_with_everything_in_it() -> None:
    raw = parse_toml(
        """
        name = "a"
        [inner]
        cost = 2
        [named.b]
        cost = 3
        [[several]]
        [[several]]
        cost = 4
        [numbered]
        7 = 0.5
        """
    )
    assert read_table(Outer, raw, str_keys=True) == Outer(
        "a", Inner(2), None, {"b": Inner(3)}, (Inner(), Inner(4)), None, {7: 0.5}
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"nmae": "x"}, "nmae: unknown key; did you mean 'name'?"),
        ({"zzz": 1}, "zzz: unknown key; known are name, inner, maybe, named, several, "),
        ({"name": 3}, "name: expected str, got int"),
        ({"inner": 3}, "inner: expected a table, such as [inner]"),
        ({"inner": {"cots": 3}}, "inner.cots: unknown key; did you mean 'cost'?"),
        ({"inner": {"cost": 0}}, "inner.cost: expected int >= 1"),
        ({"maybe": {"cost": 0}}, "maybe.cost: expected int >= 1"),
        ({"maybe": {"cots": 3}}, "maybe.cots: unknown key; did you mean 'cost'?"),
        ({"named": 3}, "named: expected one table for each, such as [named.name]"),
        ({"named": {"b": 3}}, "named.b: expected a table, such as [named.b]"),
        ({"named": {"b": {"cost": "x"}}}, "named.b.cost: expected int, got str"),
        ({"named": {"a": {}, "b": {"adress": ""}}}, "named.b.adress: unknown key; did you"),
        ({"several": 3}, "several: expected array, got int"),
        ({"several": [{}, {"cost": 0}]}, "several[1].cost: expected int >= 1"),
        ({"several": [{}, {"cots": 1}]}, "several[1].cots: unknown key; did you mean 'cost'?"),
        ({"several": [3]}, "several[0]: expected a table"),
        ({"perhaps": [{}, {"cots": 1}]}, "perhaps[1].cots: unknown key; did you mean 'cost'?"),
        ({"words": ["a", 1]}, "words[1]: expected str, got int"),
        ({"points": [[0.0, 1.0], [2.0, "x"]]}, "points[1][1]: expected float, got str"),
    ],
)
def test_an_error_names_the_key_and_the_remedy(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_table(Outer, {"name": "a", **changes})
    assert str(raised.value).startswith(told)


def test_a_missing_key_is_named_with_its_path() -> None:
    with pytest.raises(ConfigurationError, match=r"^name: missing; add it$"):
        read_table(Outer, {})
    with pytest.raises(ConfigurationError, match=r"^brokers\.b1\.name: missing; add it$"):
        read_table(Outer, {}, "brokers.b1")


def test_a_path_of_the_table_stands_before_its_keys() -> None:
    with pytest.raises(ConfigurationError, match=r"^brokers\.b1\.inner\.cost: expected int >= 1$"):
        read_table(Outer, {"name": "a", "inner": {"cost": -1}}, "brokers.b1")


def test_a_text_that_is_not_toml_is_told_with_line_and_column() -> None:
    with pytest.raises(ConfigurationError, match=r"not TOML: .*line 2, column 8"):
        parse_toml("a = 1\nname = \n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = ", ":1: not TOML"),
        ("name = 'a'\n\ninner = [", ":3: not TOML"),
        ("name = 'a'\ninner = ]\n", ":2: not TOML"),
        ("name = 3", ":1: name: expected str"),
        ("", ": name: missing; add it"),
        ("name = 'a'\nnmae = 1", ":2: nmae: unknown key; did you mean 'name'?"),
        ("name = 'a'\n[inner]\ncots = 1", ":3: inner.cots: unknown key; did you mean 'cost'?"),
        ("name = 'a'\n[[several]]\n[[several]]\ncost = 0", ":4: several[1].cost: expected int"),
        ("name = 'a'\nseveral = [\n{},\n{ cost = 0 }]", ":4: several[1].cost: expected int"),
        ("name = 'a'\n[named.b]\n\ncost = 'x'", ":4: named.b.cost: expected int, got str"),
        ("name = 'a'\npoints = [\n[0, 1],\n[1, '']]", ":4: points[1][1]: expected float"),
    ],
)
def test_an_error_about_a_file_begins_with_its_name_and_the_line(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(ReadError) as raised:
        read_file(path, ReadError, lambda raw: read_table(Outer, raw))
    assert str(raised.value).startswith(f"{path}{told}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    with pytest.raises(ReadError, match=r"broken\.toml: cannot be read: No such file"):
        read_file(path, ReadError, dict)
    path.write_bytes(b"\xff")
    with pytest.raises(ReadError, match=r"broken\.toml: cannot be read: .*utf-8"):
        read_file(path, ReadError, dict)


def test_without_a_file_an_error_only_changes_its_type() -> None:
    with pytest.raises(ReadError, match=r"^name: missing; add it$"), raised_as(ReadError):
        read_table(Outer, {})


def test_the_nearest_known_word_is_suggested() -> None:
    assert suggestion("durations", ["name", "duration_s"]) == "did you mean 'duration_s'?"
    assert suggestion("x", ["east", "west"]) == "known are east, west"
    assert suggestion("x", []) == "none is known here"


keys = st.sampled_from([*Outer.__struct_fields__, *Inner.__struct_fields__, "cots", "7", ""])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keys, values, max_size=4))
def test_a_mistake_always_gives_an_error_with_a_key(raw: dict[str, Any]) -> None:
    try:
        read = msgspec.convert(raw, Outer, str_keys=True)
    except msgspec.ValidationError:
        with pytest.raises(ConfigurationError, match=r".*: "):
            read_table(Outer, raw, str_keys=True)
    else:
        assert read_table(Outer, raw, str_keys=True) == read


def tables_in(described: msgspec.inspect.Type) -> dict[type, bool]:
    """Every table within a type, and whether it forbids unknown fields."""
    found: dict[type, bool] = {}
    if isinstance(described, msgspec.inspect.StructType) and not described.array_like:
        found[described.cls] = described.forbid_unknown_fields
        for field in described.fields:
            found |= tables_in(field.type)
    for name in ("type", "item_type", "value_type"):
        if inner := getattr(described, name, None):
            found |= tables_in(inner)
    for name in ("types", "item_types"):
        for inner in getattr(described, name, ()):
            found |= tables_in(inner)
    return found


TABLES = [
    BrokerConfig,
    Scenario,
    *(table for service in lab_services().values() for table in service.roles.values()),
    *(each.table for each in broker_services() if each.table),
]


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_table_that_is_read_forbids_unknown_keys(kind: type[msgspec.Struct]) -> None:
    tables = tables_in(msgspec.inspect.type_info(kind))
    assert tables[kind]
    assert [table.__name__ for table, forbids in tables.items() if not forbids] == []
