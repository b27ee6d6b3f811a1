import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.value_sets import (
    ABSENT,
    ANY_VALUE,
    NOTHING,
    PRESENT,
    among,
    compared_with,
    finite_values,
    like,
    nullness,
    one_of,
)
from penstock.content.selectors.expressions import Attribute, ComparisonOperator
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import compare, evaluate

X = Attribute("x")


@settings(max_examples=200)
@given(data=st.data(), operator=st.sampled_from(ComparisonOperator))
def test_comparisons_hold_for_the_values_in_the_set(data, operator, draws):
    value, bound = data.draw(draws.values), data.draw(draws.values)
    assert (value in compared_with(operator, bound)) == (compare(operator, value, bound) is True)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("x IN ('a', 1, 2.5, TRUE)", among),
        ("x NOT IN ('a', 1, 2.5, FALSE)", among),
        ("x LIKE 'a%'", like),
        ("x NOT LIKE 'a_'", like),
        ("x IS NULL", nullness),
        ("x IS NOT NULL", nullness),
    ],
)
@settings(max_examples=40)
@given(data=st.data())
def test_predicates_hold_for_the_values_in_the_set(data, text, meaning, draws):
    condition = parse(text).condition
    value = data.draw(draws.values | st.none())
    row = {} if value is None else {"x": value}
    assert (value in meaning(condition)) == (evaluate(condition, row) is True)


def test_whole_and_empty_sets():
    assert PRESENT | ABSENT == ANY_VALUE
    assert PRESENT & ABSENT == NOTHING
    assert ~ANY_VALUE == NOTHING
    assert ANY_VALUE - PRESENT == ABSENT
    assert not NOTHING
    assert ABSENT


def test_null_compares_with_nothing():
    assert compared_with(ComparisonOperator.UNEQUAL, None) == NOTHING


def test_finite_values():
    choices = parse("x IN ('b', 'a', 2, 1, FALSE)").condition.choices
    assert finite_values(one_of(choices)) == ("a", "b", 1, 2, False)
    assert finite_values(NOTHING) == ()
    for infinite in (PRESENT, ABSENT, compared_with(ComparisonOperator.LESS, 5)):
        assert finite_values(infinite) is None
