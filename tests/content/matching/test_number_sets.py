import math

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.matching.number_sets import (
    ALL_NUMBERS,
    NO_NUMBERS,
    NumberSet,
    above,
    below,
    exactly,
)

NUMBERS = (-math.inf, -(2**63), -1.5, 0, 0.5, 1, 2**53, 2.0**53 + 2, 2**53 + 1, 1e300, math.inf)
numbers = st.sampled_from(NUMBERS)
simple = st.one_of(
    st.lists(numbers, max_size=3).map(exactly),
    st.builds(above, numbers, inclusive=st.booleans()),
    st.builds(below, numbers, inclusive=st.booleans()),
    st.sampled_from((NO_NUMBERS, ALL_NUMBERS)),
)
sets = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(NumberSet.__and__, inner, inner),
        st.builds(NumberSet.__or__, inner, inner),
        st.builds(NumberSet.__invert__, inner),
    ),
    max_leaves=5,
)
probes = numbers | st.just(math.nan) | st.floats() | st.integers(-3, 3)


@given(sets, sets, probes)
def test_operations_are_those_of_sets(first, second, number):
    assert (number in first & second) == (number in first and number in second)
    assert (number in first | second) == (number in first or number in second)
    assert (number in ~first) == (number not in first)


@given(sets, sets)
def test_equal_sets_have_equal_representations(first, second):
    assert ~~first == first
    assert ~(first & second) == ~first | ~second
    assert first & first == first | first == first
    assert bool(first) == (first != NO_NUMBERS)


def test_comparisons():
    assert 5 in above(5, inclusive=True)
    assert 5.0 not in above(5, inclusive=False)
    assert 2**53 + 1 in above(2.0**53, inclusive=False)
    assert math.inf in above(0, inclusive=False)
    assert math.nan not in below(0, inclusive=True) | above(0, inclusive=True)


def test_bounds_that_nothing_satisfies():
    assert above(math.inf, inclusive=False) == NO_NUMBERS
    assert below(-math.inf, inclusive=False) == NO_NUMBERS
    assert above(math.nan, inclusive=True) == below(math.nan, inclusive=True) == NO_NUMBERS
    assert exactly([math.nan]) == NO_NUMBERS


def test_finite_sets():
    assert exactly([1, 2.5]).is_finite
    assert not above(1, inclusive=True).is_finite
    assert not ALL_NUMBERS.is_finite
    assert exactly([3, 1, 1.0]).intervals() == [((1, 0), (1, 1)), ((3, 0), (3, 1))]
