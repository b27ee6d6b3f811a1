"""Events, gossips and measures for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.services.gossip.laws.law import Measures
from penstock.services.gossip.messages import (
    Acquaintance,
    BufferClaim,
    Event,
    Gossip,
    Header,
    event_id,
)

ORIGIN = 7


@pytest.fixture
def make_event() -> Callable[..., Event]:
    def make(sequence: int, origin: int = ORIGIN, payload: bytes = b"x") -> Event:
        return Event(event_id(origin, sequence), payload)

    return make


@pytest.fixture
def make_header() -> Callable[..., Header]:
    def make(sender: str = "other", **changes: object) -> Header:
        fields: dict[str, object] = {
            "members": (Acquaintance(sender, 0),),
            "departed": (),
            "period": 0,
            "poorest": (BufferClaim(60, 99),),
            "size_period": 0,
            "size_sketch": b"",
            "mean_rate_msgs_per_s": 1.0,
            "mean_rate_weight": 0.0,
            "receipt": 1.0,
            "receipt_weight": 0.0,
        }
        return Header(**{**fields, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_gossip() -> Callable[..., Gossip]:
    def make(
        *pairs: tuple[Event, int],
        sender: str = "other",
        header: Header | None = None,
        group: str = "default",
    ) -> Gossip:
        events = tuple(event for event, _ in pairs)
        return Gossip(group, sender, header, events, bytes(age for _, age in pairs))

    return make


@pytest.fixture
def make_measures() -> Callable[..., Measures]:
    """A sender that uses its rate, in the middle of the paper's marks."""

    def make(**changes: object) -> Measures:
        fields: dict[str, object] = {
            "rate_msgs_per_s": 0.5,
            "used_rate_msgs_per_s": 0.5,
            "average_tokens": 0.0,
            "average_age": 6.0,
            "copies": 3.0,
            "reaches_everybody": False,
            "group_size": 60.0,
        }
        return Measures(**{**fields, **changes})  # type: ignore[arg-type]

    return make
