import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.covering import covers
from penstock.content.matching.witness import witness
from penstock.content.selectors.expressions import And, Or
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.content.selectors.selector import Selector


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_claimed_cover_is_never_false(data, draws):
    first, second = data.draw(draws.selectors), data.draw(draws.selectors)
    pairs = [
        (first, second),
        (first, Selector.of(And((first.condition, second.condition)))),
        (Selector.of(Or((first.condition, second.condition))), second),
    ]
    rows = data.draw(st.lists(draws.attribute_rows, min_size=5, max_size=15))
    rows += [row for row in (witness(first), witness(second)) if row is not None]
    for wide, narrow in pairs:
        if covers(wide, narrow):
            for row in rows:
                assert selects(wide, row) or not selects(narrow, row)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("", "a = 1"),
        ("x > 5", "x > 6"),
        ("x > 5", "x >= 6"),
        ("x >= 5", "x = 5"),
        ("x > 5", "x BETWEEN 6 AND 9"),
        ("x BETWEEN 1 AND 9", "x > 2 AND x < 3"),
        ("x <> 5", "x = 4"),
        ("x <> 5", "x < 5 OR x > 5"),
        ("x IS NOT NULL", "x > 5"),
        ("x IN (1, 2, 3)", "x = 2.0"),
        ("x IN (1, 2, 3)", "x IN (3, 1)"),
        ("t IN ('a', 'b')", "t = 'a'"),
        ("t LIKE 'market/%'", "t = 'market/bonds'"),
        ("t LIKE 'market/%'", "t LIKE 'market/bonds/%'"),
        ("t LIKE '%b%'", "t LIKE 'abc%'"),
        ("t <> 'a'", "t LIKE 'b%'"),
        ("t NOT LIKE 'a%'", "t = 'b'"),
        ("a = 1", "a = 1 AND b = 2"),
        ("a = 1 OR b = 2", "b = 2"),
        ("a = 1 OR b = 2", "a = 1 AND c = 3"),
        ("a > 0", "(a = 1 AND b = 1) OR (a = 2 AND c = 1)"),
        ("x < 5 OR x >= 5", "x BETWEEN 0 AND 9"),
        ("x <= 5 OR (x > 5 AND y = 1)", "y = 1 AND x > 0"),
        ("(a = 1 AND b > 0) OR (a = 1 AND b <= 0)", "a = 1 AND b BETWEEN -1 AND 1"),
        ("NOT (a = 1 AND b = 1)", "a = 2"),
        ("NOT x = 5", "x <> 5"),
        ("a < b", "a < b AND c = 1"),
        ("a = 1", "FALSE"),
    ],
)
def test_the_usual_covers_are_found(wide, narrow):
    assert covers(parse(wide), parse(narrow))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("a = 1", ""),
        ("x > 5", "x >= 5"),
        ("x >= 3", "x > 2"),
        ("a = 1 AND b = 2", "a = 1"),
        ("t LIKE 'a_%'", "t LIKE 'a%'"),
        ("x <> 5", "NOT x = 5"),
        ("x < 5 OR x >= 5", "x IS NOT NULL"),
        ("a < b", "a < c"),
        ("x > 0", "x > 0 OR y > 0"),
    ],
)
def test_what_is_no_cover(wide, narrow):
    assert not covers(parse(wide), parse(narrow))


def test_what_is_too_complicated_is_not_claimed():
    wide = " OR ".join(f"(a <> {n} AND b <> {n} AND c <> {n} AND d <> {n})" for n in range(12))
    narrow = "a > 0 AND b > 0 AND c > 0 AND d > 0"
    assert covers(parse(wide), parse(narrow)) in (True, False)
    many = " OR ".join(f"x LIKE '%x{n}x%'" for n in range(30))
    assert not covers(parse(f"x IS NULL OR {many}"), parse("x LIKE '%y%'"))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_selector_covers_itself_and_its_narrowings(data, draws):
    first, second = data.draw(draws.indexable), data.draw(draws.indexable)
    assert covers(first, first)
    assert covers(parse(""), first)
    assert covers(first, Selector.of(And((first.condition, second.condition))))
    assert covers(Selector.of(Or((first.condition, second.condition))), second)
