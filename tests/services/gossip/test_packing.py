"""No datagram is larger than allowed, and nothing is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.codec.size import encoded_size
from penstock.services.gossip.membership.view import DEPARTURES_IN_GOSSIP
from penstock.services.gossip.messages import (
    LATEST_PERIOD,
    Acquaintance,
    BufferClaim,
    Event,
    Gossip,
    Header,
    event_id,
)
from penstock.services.gossip.packing import event_bytes, packed
from penstock.services.gossip.parameters import GossipParameters

LIMIT = GossipParameters().datagram_bytes

values = st.one_of(
    st.text(max_size=20), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans()
)
contents = st.lists(
    st.tuples(
        st.binary(max_size=900), st.dictionaries(st.text(max_size=9), values, max_size=4)
    ).filter(lambda pair: event_bytes(Event(event_id(1, 1), pair[0], pair[1])) < LIMIT - 250),
    max_size=30,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(contents)
def test_every_event_goes_in_a_datagram_that_is_small_enough(
    make_header: Callable[..., Header], written: list[tuple[bytes, dict[str, Any]]]
) -> None:
    events = tuple(
        Event(event_id(2**62, number), payload, attributes)
        for number, (payload, attributes) in enumerate(written)
    )
    ages = bytes(number % 200 for number in range(len(events)))
    header = make_header(size_sketch=bytes(64), departed=("10.0.0.1:1234",) * 8)
    first = Gossip("g" * 64, "10.255.255.255:65535", header, (), b"")
    parts = packed(first, events, ages, LIMIT)
    assert sum((part.events for part in parts), ()) == events
    assert b"".join(part.ages for part in parts) == ages
    assert max(encoded_size(part) for part in parts) <= LIMIT
    assert [part.header is not None for part in parts] == [True] + [False] * (len(parts) - 1)


def test_the_longest_header_fits_the_smallest_datagram(make_header: Callable[..., Header]) -> None:
    address = "x" * 48
    header = make_header(
        members=(Acquaintance(address, 2**16),) * 9,
        departed=(address,) * (DEPARTURES_IN_GOSSIP + 1),
        period=LATEST_PERIOD,
        poorest=(BufferClaim(2**31, 2**63),) * 8,
        size_period=LATEST_PERIOD,
        size_sketch=bytes(64),
    )
    parts = packed(Gossip("g" * 64, address, header, (), b""), (), b"", 1200)
    assert encoded_size(parts[0]) <= 1200
