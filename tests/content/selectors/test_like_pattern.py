import fnmatch
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.selectors.like_pattern import (
    ANYTHING,
    InvalidPattern,
    Wildcard,
    parse_pattern,
)

pattern_texts = st.text("ab%_", max_size=6)
texts = st.text("ab\n", max_size=6)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("12%3", "123", True),
        ("12%3", "12993", True),
        ("12%3", "1234", False),
        ("l_se", "lose", True),
        ("l_se", "loose", False),
        ("%", "", True),
        ("_", "", False),
        ("_", "é", True),
        ("a%b", "a\nb", True),
        ("", "", True),
        ("", "a", False),
        ("a.c", "abc", False),
    ],
)
def test_wildcards(pattern, text, matches):
    assert parse_pattern(pattern).matches(text) is matches


def test_escaped_wildcards_stand_for_themselves():
    pattern = parse_pattern(r"\_%", "\\")
    assert pattern.matches("_foo")
    assert not pattern.matches("bar")
    assert parse_pattern("50!%!!", "!").literal == "50%!"


@pytest.mark.parametrize(
    ("pattern", "escape", "part"),
    [("a!b", "!", "stands before 'b'"), ("a!", "!", "the end"), ("a", "!!", "exactly one")],
)
def test_wrong_escapes_are_refused(pattern, escape, part):
    with pytest.raises(InvalidPattern, match=part):
        parse_pattern(pattern, escape)


def test_runs_of_wildcards_have_one_form():
    assert parse_pattern("%_%_%") == parse_pattern("__%")
    assert parse_pattern("%%").elements == (Wildcard.MANY,)
    assert parse_pattern("%") == ANYTHING


@given(pattern_texts, texts)
def test_agrees_with_shell_patterns(pattern, text):
    shell = pattern.replace("%", "*").replace("_", "?")
    assert parse_pattern(pattern).matches(text) == fnmatch.fnmatchcase(text, shell)


@given(st.text("ab%_\\'", max_size=6))
def test_canonical_text_reads_back(literal):
    for pattern in (parse_pattern(literal), parse_pattern(literal.replace("a", "!%"), "!")):
        assert parse_pattern(*pattern.canonical()) == pattern


def test_inclusion_and_exclusion_are_never_claimed_wrongly():
    small = ["".join(signs) for n in range(4) for signs in product("a%_", repeat=n)]
    strings = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
    accepted = {
        pattern: {text for text in strings if pattern.matches(text)}
        for pattern in map(parse_pattern, small)
    }
    for one, two in product(accepted, repeat=2):
        if one.includes(two):
            assert accepted[one] >= accepted[two]
        if one.excludes(two):
            assert not accepted[one] & accepted[two]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("%", "a_"), ("a%", "ab%"), ("a%", "a"), ("%b%", "a%b"), ("_%", "a%"), ("a_c", "abc")],
)
def test_usual_inclusions_are_found(wide, narrow):
    assert parse_pattern(wide).includes(parse_pattern(narrow))
    assert not parse_pattern(narrow).includes(parse_pattern(wide))


def test_different_beginnings_ends_and_lengths_exclude_each_other():
    assert parse_pattern("a%").excludes(parse_pattern("b%"))
    assert parse_pattern("%a").excludes(parse_pattern("%b"))
    assert parse_pattern("__").excludes(parse_pattern("abc%"))
    assert not parse_pattern("a%").excludes(parse_pattern("ab%"))


def test_hostile_patterns_are_matched_in_linear_steps():
    # A backtracking matcher would take longer than anybody waits.
    assert not parse_pattern("%a" * 40 + "%b").matches("a" * 4000)


def test_parts_of_a_pattern():
    pattern = parse_pattern("ab%cd")
    assert (pattern.leading_text, pattern.trailing_text) == ("ab", "cd")
    assert pattern.least_length == 4
    assert not pattern.has_fixed_length
    assert not pattern.is_prefix
    assert parse_pattern("ab%").is_prefix
    assert not parse_pattern("_%").is_prefix
    assert parse_pattern("").literal == ""
    assert parse_pattern("%a").leading_text == ""
