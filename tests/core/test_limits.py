from __future__ import annotations

import typing
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from penstock.core import limits
from penstock.core.limit_check import unbounded_fields

TYPES = {
    name: value
    for name, value in vars(limits).items()
    if typing.get_origin(value) is typing.Annotated
}


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_type_has_a_limit(name: str) -> None:
    kind = msgspec.defstruct("Holder", [("field", TYPES[name])])
    assert unbounded_fields(kind) == []


@pytest.mark.parametrize(
    "name", ["Sequence", "TickLimited", "DurationLimited", "Count", "CountBytes", "RequestNumber"]
)
def test_the_sum_of_two_legal_numbers_fits_64_bits(name: str) -> None:
    described: Any = inspect.type_info(TYPES[name])
    largest = described.le if described.le is not None else described.lt - 1
    assert 2 * largest <= 2**63


def test_an_instant_may_be_never() -> None:
    assert msgspec.convert(limits.LATEST_INSTANT, limits.InstantLimited) == 2**63 - 1
