"""Results are kept for attributes that are the same, and only for those."""

from __future__ import annotations

from penstock.services.datagram.attribute_cache import KEPT_ANSWERS, AttributeCache
from penstock.services.datagram.messages import Attribute


def test_a_result_is_computed_once_until_the_cache_is_cleared() -> None:
    asked: list[dict[str, Attribute]] = []
    cache = AttributeCache(lambda row: asked.append(row) or len(asked))  # type: ignore[func-returns-value]
    assert [cache.of({"a": 1}), cache.of({"a": 1})] == [1, 1]
    cache.forget()
    assert cache.of({"a": 1}) == 2


def test_values_that_are_equal_and_not_the_same_are_told_apart() -> None:
    cache = AttributeCache(lambda row: type(row["a"]))
    assert [cache.of({"a": each}) for each in (1, True, 1.0, "1")] == [int, bool, float, str]


def test_what_is_kept_is_bounded() -> None:
    cache = AttributeCache(lambda row: row["n"])
    assert [cache.of({"n": n}) for n in range(2 * KEPT_ANSWERS + 1)] == [
        *range(2 * KEPT_ANSWERS + 1)
    ]
    assert len(cache._answers) <= KEPT_ANSWERS
