import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lab.workloads.attribute_values import InvalidAttributeSpec, value_function


def values(spec: str, count: int = 6) -> list[object]:
    function = value_function(spec, "stream")
    return [function(number) for number in range(count)]


def test_a_constant_is_its_own_value() -> None:
    assert values("plain", 2) == ["plain", "plain"]
    assert values("http://example", 1) == ["http://example"]
    assert value_function(7, "stream")(3) == 7
    assert values("constant:cycle:0..2", 1) == ["cycle:0..2"]


def test_a_cycle_excludes_its_end() -> None:
    assert values("cycle:2..5") == [2, 3, 4, 2, 3, 4]


def test_number_is_the_message_number() -> None:
    assert values("number:", 3) == [0, 1, 2]


@given(st.integers(0, 10**9))
def test_a_choice_is_one_of_the_words_and_repeatable(number: int) -> None:
    function = value_function("choice:A,B,C", "stream")
    assert function(number) in ("A", "B", "C")
    assert function(number) == value_function("choice:A,B,C", "stream")(number)


@given(st.integers(0, 10**9))
def test_uniform_stays_in_its_range(number: int) -> None:
    value = value_function("uniform:-1..2.5", "stream")(number)
    assert isinstance(value, float)
    assert -1 <= value <= 2.5


@pytest.mark.parametrize("spec", ["cycle:", "cycle:4", "cycle:a..b", "cycle:4..4", "uniform:x..1"])
def test_a_malformed_range_is_refused_and_quoted(spec: str) -> None:
    with pytest.raises(InvalidAttributeSpec, match="range"):
        value_function(spec, "stream")
