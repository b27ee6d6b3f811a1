from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.bitset_segment import (
    ROWS_AT_ONCE,
    BitsetSegment,
    Scratch,
    SlottedBox,
)
from penstock.content.matching.normal_form import normal_form
from penstock.content.rows.batch import Batch
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.content.selectors.vectorised import BatchEvaluator


def segment_of(selectors):
    return BitsetSegment(
        [
            SlottedBox(ordinal, box)
            for ordinal, selector in enumerate(selectors)
            for box in normal_form(selector)
        ]
    )


def pairs_of(segment, batch, rows):
    return {
        pair
        for ordinals, numbers in segment.pairs(batch, rows, Scratch())
        for pair in zip(ordinals.tolist(), numbers.tolist(), strict=True)
    }


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_batches_and_single_rows_agree_with_the_plain_evaluator(data, draws):
    selectors = data.draw(st.lists(draws.selectors, min_size=1, max_size=5))
    rows = data.draw(st.lists(draws.attribute_rows, min_size=1, max_size=5))
    segment = segment_of(selectors)
    batch = BatchEvaluator(Batch.from_rows([(row, b"") for row in rows]))
    expected = {
        (ordinal, at)
        for ordinal, selector in enumerate(selectors)
        for at, row in enumerate(rows)
        if selects(selector, row)
    }
    singly = {
        (ordinal, at) for at, row in enumerate(rows) for ordinal in segment.ordinals_accepting(row)
    }
    assert singly == pairs_of(segment, batch, len(rows)) == expected
    wanted = [any(at == row for _, row in expected) for at in range(len(rows))]
    found = segment.any_box(batch, len(rows), Scratch())
    assert (found.tolist() if found is not None else [False] * len(rows)) == wanted
    assert [segment.accepts(row) for row in rows] == wanted


def test_boxes_can_be_taken_out():
    selectors = [parse(text) for text in ("a = 1", "a < 5 AND a < b", "b = 2")]
    segment = segment_of(selectors)
    row = {"a": 1, "b": 2}
    assert segment.ordinals_accepting(row) == [0, 1, 2]
    segment.kill(1)
    segment.kill(0)
    assert segment.living == 1
    assert [each.ordinal for each in segment.living_boxes()] == [2]
    assert segment.ordinals_accepting(row) == [2]
    batch = BatchEvaluator(Batch.from_rows([(row, b"")] * 20))
    assert pairs_of(segment, batch, 20) == {(2, number) for number in range(20)}


def test_attributes_that_no_row_has_rule_boxes_out_at_once():
    segment = segment_of([parse("a = 1 AND b = 2")])
    batch = BatchEvaluator(Batch.from_rows([({"c": 1}, b"")] * 20))
    assert segment.any_box(batch, 20, Scratch()) is None
    assert pairs_of(segment, batch, 20) == set()


def test_scratch_grows_and_is_reused():
    scratch = Scratch()
    first, second = scratch.matrices(4, 2)
    assert first.shape == second.shape == (4, 2)
    again, _ = scratch.matrices(2, 2)
    assert again.base is first.base
    larger, _ = scratch.matrices(100, 3)
    assert larger.shape == (100, 3)


def test_a_segment_without_living_boxes_holds_nothing():
    segment = segment_of([parse("a < b")])
    segment.kill(0)
    batch = BatchEvaluator(Batch.from_rows([({"a": 1, "b": 2}, b"")] * 20))
    assert segment.any_box(batch, 20, Scratch()) is None
    assert pairs_of(segment, batch, 20) == set()


def test_a_large_batch_is_matched_in_parts():
    rows = [{"a": number % 7, "b": number % 5} for number in range(2 * ROWS_AT_ONCE + 100)]
    selectors = [parse(text) for text in ("a = 1", "a < b", "b = 4 AND a > 2")]
    segment = segment_of(selectors)
    batch = BatchEvaluator(Batch.from_rows([(row, b"") for row in rows]))
    expected = {
        (ordinal, at)
        for ordinal, selector in enumerate(selectors)
        for at, row in enumerate(rows)
        if selects(selector, row)
    }
    assert pairs_of(segment, batch, len(rows)) == expected
    found = segment.any_box(batch, len(rows), Scratch())
    assert set(found.nonzero()[0].tolist()) == {at for _, at in expected}
