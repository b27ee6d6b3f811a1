"""Answers are kept for attributes that are the same, and only for those."""

from __future__ import annotations

from penstock.services.datagram.forwarding.remembered import KEPT_ANSWERS, Remembered
from penstock.services.datagram.messages import Attribute


def test_the_same_attributes_are_asked_about_once_until_everything_is_forgotten() -> None:
    asked: list[dict[str, Attribute]] = []
    remembered = Remembered(lambda row: asked.append(row) or len(asked))  # type: ignore[func-returns-value]
    assert [remembered.of({"a": 1}), remembered.of({"a": 1})] == [1, 1]
    remembered.forget()
    assert remembered.of({"a": 1}) == 2


def test_values_that_are_equal_and_not_the_same_are_told_apart() -> None:
    remembered = Remembered(lambda row: type(row["a"]))
    assert [remembered.of({"a": each}) for each in (1, True, 1.0, "1")] == [int, bool, float, str]


def test_what_is_kept_is_bounded() -> None:
    remembered = Remembered(lambda row: row["n"])
    assert [remembered.of({"n": n}) for n in range(2 * KEPT_ANSWERS + 1)] == [
        *range(2 * KEPT_ANSWERS + 1)
    ]
    assert len(remembered._answers) <= KEPT_ANSWERS
