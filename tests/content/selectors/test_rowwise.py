"""The meaning of selectors, with the examples and rules of JMS section 3.8.1."""

import math

import pytest

from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import evaluate, selects

ROW = {
    "age": 17,
    "price": 9.5,
    "name": "Penn",
    "urgent": True,
    "raw": b"x",
    "big": 2**53 + 1,
    "nan": math.nan,
}


def truth(text, row=ROW):
    return evaluate(parse(text).condition, row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age = 17", True),
        ("age = 17.0", True),
        ("17 < age", False),
        ("price >= 9.5", True),
        ("name = 'Penn'", True),
        ("name <> 'penn'", True),
        ("urgent", True),
        ("urgent <> TRUE", False),
        ("NOT urgent", False),
        ("age BETWEEN 15 AND 19", True),
        ("age NOT BETWEEN 15 AND 19", False),
        ("name IN ('Inge', 'Penn')", True),
        ("name NOT IN ('Inge')", True),
        ("age IN (16, 17.0)", True),
        ("name LIKE 'P%n'", True),
        ("name NOT LIKE '_enn'", False),
        ("age + 3 * 2 = 23", True),
        ("-age / 5 = -3", True),
        ("missing IS NULL", True),
        ("raw IS NOT NULL", True),
    ],
)
def test_conditions(text, expected):
    assert truth(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "missing = 1",
        "missing <> 1",
        "missing = missing",
        "missing",
        "NOT missing",
        "missing BETWEEN 1 AND 2",
        "missing NOT BETWEEN 1 AND 2",
        "missing IN (1)",
        "missing NOT IN (1)",
        "missing LIKE '%'",
        "missing NOT LIKE '%'",
        "age + missing > 0",
        "age / 0 > 0",
        "name + 1 > 0",
        "-urgent < 0",
    ],
)
def test_null_makes_conditions_unknown(text):
    assert truth(text) is None
    assert not selects(parse(text), ROW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = 17", False),
        ("name <> 17", False),
        ("NOT name = 17", True),
        ("age = 'x'", False),
        ("urgent = 1", False),
        ("name > age", False),
        ("name < name", False),
        ("urgent >= urgent", False),
        ("name BETWEEN 1 AND 2", False),
        ("name NOT BETWEEN 1 AND 2", False),
        ("age NOT IN ('x')", True),
        ("age LIKE '1%'", False),
        ("age NOT LIKE '1%'", True),
        ("age", False),
        ("raw = raw", False),
        ("raw <> raw", False),
    ],
)
def test_unlike_types_compare_as_false(text, expected):
    assert truth(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("big = 9007199254740992.0", False),
        ("big > 9007199254740992.0", True),
        ("nan = nan", False),
        ("nan <> nan", True),
        ("nan > 0 OR nan <= 0", False),
        ("nan NOT BETWEEN 0 AND 1", False),
    ],
)
def test_numbers_compare_exactly_and_nan_as_in_ieee_754(text, expected):
    assert truth(text) is expected


U = "missing = 1"
T, F = "TRUE", "FALSE"


@pytest.mark.parametrize(
    ("left", "right", "conjunction", "disjunction"),
    [
        (T, T, True, True),
        (T, F, False, True),
        (T, U, None, True),
        (F, F, False, False),
        (F, U, False, None),
        (U, U, None, None),
    ],
)
def test_three_valued_logic(left, right, conjunction, disjunction):
    for first, second in ((left, right), (right, left)):
        assert truth(f"{first} AND {second}") is conjunction
        assert truth(f"{first} OR {second}") is disjunction


def test_not():
    assert truth("NOT TRUE") is False
    assert truth("NOT FALSE") is True
    assert truth(f"NOT {U}") is None
