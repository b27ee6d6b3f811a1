from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.string_sets import (
    ALL_STRINGS,
    NO_STRINGS,
    Region,
    StringSet,
    TooComplicated,
    strings_like,
)
from penstock.content.selectors.like_pattern import parse_pattern


def like(text):
    return strings_like(parse_pattern(text))


def only(*texts):
    return StringSet(frozenset(texts))


texts = st.text("ab", max_size=4)
simple = st.one_of(
    st.frozensets(texts, max_size=3).map(StringSet),
    st.text("ab%_", max_size=4).map(like),
    st.sampled_from((NO_STRINGS, ALL_STRINGS)),
)
sets = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(StringSet.__and__, inner, inner),
        st.builds(StringSet.__or__, inner, inner),
        st.builds(StringSet.__invert__, inner),
    ),
    max_leaves=4,
)


@settings(deadline=None)
@given(sets, sets, texts)
def test_operations_are_those_of_sets(first, second, text):
    assert (text in first & second) == (text in first and text in second)
    assert (text in first | second) == (text in first or text in second)
    assert (text in ~first) == (text not in first)


@given(sets)
def test_an_empty_set_holds_nothing_and_opposites_meet_nowhere_known(strings):
    assert strings & NO_STRINGS == NO_STRINGS
    assert strings | NO_STRINGS == strings
    assert strings & ALL_STRINGS == strings


@pytest.mark.parametrize(
    "empty",
    [
        like("a%") & like("b%"),
        like("ab%") & ~like("a%"),
        only("a") & only("b"),
        only("ba") & like("a%"),
        ~ALL_STRINGS,
        like("__") & like("abc%"),
    ],
)
def test_obviously_empty_sets_are_found(empty):
    assert not empty
    assert empty == NO_STRINGS


def test_unions_are_simplified():
    assert like("ab%") | like("a%") == like("a%")
    assert only("abc") | like("a%") == like("a%")
    assert ~only("a") | only("a") == ALL_STRINGS
    assert ~only("a") | ~only("b") == ALL_STRINGS
    assert like("a") == only("a")
    assert like("%") == ALL_STRINGS


def test_a_region_leaves_strings_out():
    strings = like("a%") & ~only("ab", "b")
    assert strings.regions == (
        Region(frozenset({parse_pattern("a%")}), excluded=frozenset({"ab"})),
    )
    assert "aa" in strings
    assert "ab" not in strings


def test_complexity_is_bounded():
    many = [like(f"%x{number}x%") for number in range(100)]
    with pytest.raises(TooComplicated):
        reduce(StringSet.__or__, many)
