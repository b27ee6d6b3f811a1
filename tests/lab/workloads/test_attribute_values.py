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


def test_a_share_of_the_messages_has_the_first_word() -> None:
    drawn = values("share:0.2,A,B", 20_000)
    assert set(drawn) == {"A", "B"}
    assert 0.18 < drawn.count("A") / len(drawn) < 0.22
    assert set(values("share:0,A,B", 100)) == {"B"}
    assert set(values("share:1,A,B", 100)) == {"A"}


def test_zipf_draws_small_numbers_more_often() -> None:
    drawn = values("zipf:4,1", 20_000)
    parts = [drawn.count(number) / len(drawn) for number in range(4)]
    assert sum(parts) == 1
    assert parts == pytest.approx([0.48, 0.24, 0.16, 0.12], abs=0.02)
    assert set(values("zipf:1,0.8", 10)) == {0}


@pytest.mark.parametrize("spec", ["share:0.2", "share:2,A,B", "share:x,A,B", "share:0.5,A,B,C"])
def test_a_malformed_share_is_refused_and_quoted(spec: str) -> None:
    with pytest.raises(InvalidAttributeSpec, match="share from 0 to 1"):
        value_function(spec, "stream")


@pytest.mark.parametrize("spec", ["zipf:", "zipf:5", "zipf:0,1", "zipf:a,1", "zipf:5,b"])
def test_a_malformed_zipf_is_refused_and_quoted(spec: str) -> None:
    with pytest.raises(InvalidAttributeSpec, match="count of numbers and an exponent"):
        value_function(spec, "stream")
