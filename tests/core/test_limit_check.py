from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from penstock.core.limit_check import unbounded_fields, violation
from penstock.core.limits import AnyFloat, Count, Intervals, Name, Positions, Rate, Sequence
from penstock.core.message import Message


class Inner(msgspec.Struct, frozen=True, array_like=True):
    number: Sequence = 0


class Outer(Message, frozen=True):
    name: Name = ""
    positions: Positions = msgspec.field(default_factory=dict)
    intervals: Intervals = ()
    rate: Rate = 0.0
    inner: Inner | None = None
    pairs: Annotated[tuple[tuple[Name, Count], ...], msgspec.Meta(max_length=3)] = ()
    flag: bool = False
    value: AnyFloat = 0.0


LEGAL = (
    Outer(),
    Outer("n" * 512, {"pb.1": 2**62}, ((0, 1),), 1e18, Inner(2**62 - 1), (("a", 1),) * 3, True),
    Outer(value=float("nan")),
)

BROKEN = {
    "Outer.name has a length of 513": Outer("n" * 513),
    "Outer.positions is -1": Outer(positions={"pb.1": -1}),
    "Outer.positions has a length of 10001": Outer(positions={str(n): 0 for n in range(10_001)}),
    "Outer.positions has a length of 600": Outer(positions={"n" * 600: 0}),
    "Outer.intervals is 18446744073709551615": Outer(intervals=((0, 1), (0, 2**64 - 1))),
    "Outer.rate is nan": Outer(rate=float("nan")),
    "Outer.rate is inf": Outer(rate=float("inf")),
    "Outer.inner Inner.number is -1": Outer(inner=Inner(-1)),
    "Outer.pairs has a length of 4": Outer(pairs=(("a", 1),) * 4),
    "Outer.pairs has a length of 513": Outer(pairs=(("a" * 513, 1),)),
}


@pytest.mark.parametrize("message", LEGAL)
def test_what_the_decoder_accepts_breaks_no_limit(message: Outer) -> None:
    encoded = msgspec.msgpack.encode(message)
    # Equality of what is not a number says nothing.
    assert msgspec.msgpack.encode(msgspec.msgpack.decode(encoded, type=Outer)) == encoded
    assert violation(message) == ""


@pytest.mark.parametrize("problem", BROKEN)
def test_what_the_decoder_refuses_breaks_a_limit(problem: str) -> None:
    message = BROKEN[problem]
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Outer)
    assert violation(message).startswith(problem)


class Unlimited(Message, frozen=True):
    name: str
    number: int
    half: Annotated[int, msgspec.Meta(ge=0)]
    rate: float
    data: bytes
    texts: tuple[Name, ...]
    by_name: Annotated[dict[str, bool], msgspec.Meta(max_length=3)]
    either: Name | int
    anything: Any
    nested: Unlimited | None = None


def test_fields_without_limits_are_found() -> None:
    assert unbounded_fields(Unlimited) == [
        "Unlimited.name",
        "Unlimited.number",
        "Unlimited.half",
        "Unlimited.rate",
        "Unlimited.data",
        "Unlimited.texts",
        "Unlimited.by_name (key)",
        "Unlimited.either",
        "Unlimited.anything",
        "Unlimited.nested (nests itself)",
    ]
    assert unbounded_fields(Outer) == []
