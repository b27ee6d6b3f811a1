"""How a request is named on its way up: unions, their parts, and what includes what."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.content.selectors.parser import parse
from penstock.services.guaranteed.messages import LIVE_FILTER
from penstock.services.guaranteed.relay.request_filter import (
    MAX_UNION_CHARACTERS,
    MAX_UNION_SELECTORS,
    filtered,
    includes,
    parts_of,
    union_of,
)

A, B = "a = 1", "b = 2"


def test_one_selector_is_its_own_name() -> None:
    assert union_of([A]) == A


def test_a_union_names_every_selector_whatever_their_order() -> None:
    assert union_of([B, A]) == union_of([A, B]) == "a = 1 OR b = 2"


def test_what_is_covered_is_not_named() -> None:
    assert union_of(["a > 0", "a > 10", "TRUE"]) == "TRUE"
    assert union_of(["a > 10", "a > 0"]) == "a > 0"


def test_a_union_of_unions_is_flat_and_can_be_read() -> None:
    union = union_of(["a = 1 OR b = 2", "c = 3"])

    assert parse(union).text == union
    assert parts_of(union) == ("a = 1", "b = 2", "c = 3")


def test_what_is_too_large_to_be_named_is_asked_for_as_everything_behind_the_link() -> None:
    many = [f"a = {number}" for number in range(MAX_UNION_SELECTORS + 1)]
    long = [f"a = '{'x' * MAX_UNION_CHARACTERS}'"]

    assert union_of(many) == LIVE_FILTER
    assert union_of(long) == LIVE_FILTER
    assert union_of([]) == LIVE_FILTER


def test_a_selector_that_is_no_union_is_its_only_part() -> None:
    assert parts_of("a = 1 AND b = 2") == ("a = 1 AND b = 2",)


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (A, A, True),
        (LIVE_FILTER, A, True),
        (LIVE_FILTER, LIVE_FILTER, True),
        ("TRUE", A, True),
        (union_of([A, B]), B, True),
        (A, B, False),
        (A, LIVE_FILTER, False),
        ("TRUE", LIVE_FILTER, False),
    ],
)
def test_what_an_answer_includes(wide: str, narrow: str, expected: bool) -> None:
    assert includes(wide, narrow) is expected


def test_a_filter_drops_rows_and_keeps_the_interval() -> None:
    rows = Batch.from_rows([({"n": number}, b"") for number in (2, 5)])
    part = filtered("n > 3", Frame(0, 10, range(2, 4), rows))

    assert (part.low, part.high) == (0, 10)
    assert list(part.batch.attribute_rows()) == [{"n": 5}]
