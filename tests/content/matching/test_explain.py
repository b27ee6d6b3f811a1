import pytest

from penstock.content.matching.explain import Lookup, explain
from penstock.content.selectors.parser import parse


@pytest.mark.parametrize(
    ("text", "lookup", "accepts"),
    [
        ("x = 5", Lookup.EQUALITY, "x = 5"),
        ("x IN ('b', 'a', 1)", Lookup.EQUALITY, "x in ('a', 'b') or = 1"),
        ("x", Lookup.EQUALITY, "x = TRUE"),
        ("x > 5", Lookup.RANGE, "x > 5"),
        ("x BETWEEN 1 AND 5.5", Lookup.RANGE, "x >= 1 and <= 5.5"),
        ("x < 1 OR x >= 2", Lookup.RANGE, "x < 1 or >= 2"),
        ("x <> 5", Lookup.RANGE, "x < 5 or > 5 or is NaN"),
        ("x LIKE 'a%'", Lookup.PATTERN, "x is a string like 'a%'"),
        (
            "x LIKE 'a%' AND x NOT LIKE '%b' AND x <> 'ac'",
            Lookup.PATTERN,
            "x is a string like 'a%' and not like '%b' and <> 'ac'",
        ),
        ("x IS NULL", Lookup.PRESENCE, "x is absent"),
        ("x IS NOT NULL", Lookup.PRESENCE, "x is present"),
        ("x IS NULL OR x = FALSE", Lookup.MIXED, "x = FALSE or is absent"),
        (
            "NOT x = 'a'",
            Lookup.MIXED,
            "x is a string <> 'a' or is a number or is a boolean or is bytes",
        ),
        ('"x-y" = 1', Lookup.EQUALITY, '"x-y" = 1'),
        ("x LIKE '%'", Lookup.MIXED, "x is a string"),
        ("x <= 0 OR x > 0", Lookup.RANGE, "x is a number but not NaN"),
    ],
)
def test_constraints(text, lookup, accepts):
    (alternative,) = explain(parse(text)).alternatives
    (constraint,) = alternative.indexed
    assert (constraint.lookup, constraint.accepts) == (lookup, accepts)
    assert alternative.unindexed == ()


def test_what_is_not_indexed_is_named():
    explanation = explain(parse("c=1 and a<b and not a*2>b"))
    assert explanation.text == "c = 1 AND a < b AND NOT a * 2 > b"
    (alternative,) = explanation.alternatives
    assert [each.attribute for each in alternative.indexed] == ["c"]
    assert alternative.unindexed == ("a * 2 > b is FALSE", "a < b")
    assert not explanation.is_fully_indexed


def test_alternatives():
    explanation = explain(parse("a = 1 OR b = 2"))
    assert len(explanation.alternatives) == 2
    assert explanation.is_fully_indexed


def test_everything_and_nothing():
    assert explain(parse("")).matches_everything
    assert not explain(parse("a = 1")).matches_everything
    assert explain(parse("a = 1 AND a = 2")).matches_nothing
