import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching import value_classes
from penstock.content.matching.normal_form import normal_form
from penstock.content.matching.value_classes import MAX_STEPS, ValueClasses, has_patterns
from penstock.content.matching.value_sets import ANY_VALUE
from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse

TEXTS = (
    "x = 1",
    "x > 1.5",
    "x <= 9007199254740993",
    "x BETWEEN -3 AND 2 OR x = 7",
    "NOT x = 9223372036854775807",
    "x < -1e300",
    "x IN ('a', 'b', 2.5)",
    "x <> 'a'",
    "x LIKE 'a%'",
    "x LIKE 'a%' AND x <> 'ab'",
    "x NOT LIKE '%b'",
    "x = TRUE",
    "x IS NULL",
    "x IS NOT NULL",
    "NOT x <> 0.5",
)
ASKED = {
    slot: dict(normal_form(parse(text))[0].constraints)["x"] for slot, text in enumerate(TEXTS)
}
PLAIN = {slot: wanted for slot, wanted in ASKED.items() if not has_patterns(wanted.strings)}
AWKWARD_BOUNDS = (
    *(0, 1, -1, 0.5, 2**53, 2**53 + 1, -(2**53) - 1, 2.0**53 + 2),
    *(2**63 - 1, -(2**63), 2.0**63, -(2.0**63), 1e308, -1e308),
)
SLOTS = 80
"""More than a word; the slots without a text ask nothing."""


def batch_of(values):
    return Batch.from_rows([({"x": value}, b"") for value in values])


def rows_of(classes, found):
    table = classes.table()
    return [int.from_bytes(table[row].tobytes(), "little") for row in found.tolist()]


def expected(asked, value):
    return sum(1 << slot for slot in range(SLOTS) if value in asked.get(slot, ANY_VALUE))


@pytest.mark.parametrize("asked", [ASKED, PLAIN], ids=["patterns", "plain"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rows_hold_the_slots_that_accept_a_value(data, asked, draws):
    classes = ValueClasses("x", asked, SLOTS)
    values = data.draw(st.lists(draws.values | st.none(), min_size=1, max_size=8))
    for value in values:
        assert classes.row_of(value) == expected(asked, value)
    batch = Batch.from_rows([({} if v is None else {"x": v}, b"") for v in values])
    found = classes.classify(batch.columns, len(values))
    table = classes.table()
    rows = [found] * len(values) if isinstance(found, int) else found.tolist()
    assert [int.from_bytes(table[row].tobytes(), "little") for row in rows] == [
        expected(asked, value) for value in values
    ]


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
def test_awkward_numbers_fall_on_the_right_side_of_awkward_bounds(operator):
    texts = [f"x {operator} {bound}" for bound in AWKWARD_BOUNDS]
    asked = {i: dict(normal_form(parse(t))[0].constraints)["x"] for i, t in enumerate(texts)}
    classes = ValueClasses("x", asked, SLOTS)
    integers = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
    floats = [0.0, 0.5, -1.0, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, -(2.0**63), math.inf]
    for values in (integers, floats):
        batch = batch_of(values)
        found = classes.classify(batch.columns, len(values))
        assert rows_of(classes, found) == [expected(asked, value) for value in values]
        assert [classes.row_of(value) for value in values] == rows_of(classes, found)


def test_an_attribute_that_is_the_same_everywhere_is_one_class():
    classes = ValueClasses("x", ASKED, SLOTS)
    for rows in ([{}] * 3, [{"x": "a"}] * 3, [{"x": b"a"}] * 3):
        batch = Batch.from_rows([(row, b"") for row in rows])
        assert isinstance(classes.classify(batch.columns, 3), int)


@pytest.mark.parametrize("spread", [10, MAX_STEPS, MAX_STEPS + 1, 2**40])
def test_integers_by_table_and_by_search_agree(spread):
    texts = (f"x > {-spread // 2}", "x >= 0", f"x = {spread - spread // 2}")
    asked = {i: dict(normal_form(parse(t))[0].constraints)["x"] for i, t in enumerate(texts)}
    classes = ValueClasses("x", asked, SLOTS)
    bound = spread // 2
    values = [-(2**63), -bound - 1, -bound, -bound + 1, -1, 0, 1, bound, bound + 1, 2**63 - 1]
    found = classes.classify(batch_of(values).columns, 10)
    assert rows_of(classes, found) == [expected(asked, value) for value in values]


def test_learned_strings_are_bounded(monkeypatch):
    monkeypatch.setattr(value_classes, "MAX_LEARNED_STRINGS", 8)
    classes = ValueClasses("x", ASKED, SLOTS)
    built = len(classes.table())
    for start in range(0, 100, 5):
        values = [f"a{number}" for number in range(start, start + 5)]
        found = classes.classify(batch_of(values).columns, 5)
        assert rows_of(classes, found) == [expected(ASKED, value) for value in values]
    assert len(classes.table()) <= 2 * (built + 8)


def test_nan_is_a_class_of_its_own():
    classes = ValueClasses("x", ASKED, SLOTS)
    found = classes.classify(batch_of([1.0, math.nan, math.inf]).columns, 3)
    assert len(np.unique(found)) == 3
    assert classes.row_of(math.nan) == expected(ASKED, math.nan)
