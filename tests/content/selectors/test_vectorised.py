import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import evaluate, selects
from penstock.content.selectors.vectorised import BatchEvaluator, select


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_row_has_the_truth_of_the_plain_evaluator(data, draws):
    condition = data.draw(draws.conditions)
    rows = data.draw(st.lists(draws.attribute_rows, max_size=6))
    evaluator = BatchEvaluator(Batch.from_rows([(row, b"") for row in rows]))
    true = evaluator.rows(condition, wanted=True).tolist()
    false = evaluator.rows(condition, wanted=False).tolist()
    expected = [evaluate(condition, row) for row in rows]
    assert true == [truth is True for truth in expected]
    assert false == [truth is False for truth in expected]


ROWS = [
    {"a": 5, "b": 2, "s": "x", "t": "x"},
    {"a": 5.5, "b": 2, "s": "x", "t": "y"},
    {"a": "5", "s": "x", "flag": True},
    {"a": -7, "b": 2.0, "flag": False},
    {"a": 2**63 - 1, "b": 2**63 - 1},
    {},
]


@pytest.mark.parametrize(
    "text",
    [
        "a > b",
        "a * b > 10",
        "a / b < 0",
        "a / 0 = 1",
        "a - -b >= 7",
        "-a < 0",
        "s = t",
        "s <> t",
        "flag",
        "flag = flag",
        "a BETWEEN b AND 6",
        "a NOT BETWEEN b AND 6",
        "s LIKE 'x%' AND NOT a = 5",
        "a IN (5, 5.5, '5') OR flag IN (FALSE)",
        "missing IS NULL AND s IS NOT NULL",
        "TRUE",
    ],
)
def test_mixed_columns(text):
    selector = parse(text)
    batch = Batch.from_rows([(row, b"") for row in ROWS])
    assert select(selector, batch).tolist() == [selects(selector, row) for row in ROWS]


def test_an_outcome_is_worked_out_once():
    evaluator = BatchEvaluator(Batch.from_rows([({"a": 1, "b": 2}, b"")] * 10))
    condition = parse("a < b").condition
    first = evaluator.rows(condition, wanted=True)
    assert evaluator.rows(condition, wanted=True) is first
    assert not np.any(evaluator.rows(condition, wanted=False))


def test_columns_of_a_name_are_found_together():
    evaluator = BatchEvaluator(Batch.from_rows([({"a": 1}, b""), ({"a": "x"}, b"")]))
    assert len(evaluator.columns("a")) == 2
    assert len(evaluator.columns("b")) == 0
