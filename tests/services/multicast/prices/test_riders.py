"""Prices that wait for a message: which ride, which go alone, and that none stays behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.codec.size import value_size
from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.services.multicast.messages import PriceRecord
from penstock.services.multicast.prices.riders import MOST_RIDERS, RIDER_BYTES, PriceRiders

WAIT = 10 * MILLISECOND
NOW: Instant = 1_700_000_000 * SECOND


def price(sequence: int, link: int = 1) -> PriceRecord:
    return PriceRecord(link, sequence, 0.5)


def told(riders: PriceRiders) -> tuple[int, int]:
    """How many prices rode to the neighbour, and how many went alone."""
    return riders.told["b"].rode, riders.told["b"].went_alone


def lively(gap_ns: int = 5 * MILLISECOND, messages: int = 100) -> tuple[PriceRiders, Instant]:
    """A link whose messages follow each other so closely, and the time of the last."""
    riders = PriceRiders(WAIT)
    riders.link_up("b")
    now = NOW
    for _ in range(messages):
        now += gap_ns
        assert riders.board("b", now) == ()
    return riders, now


def test_a_price_rides_on_the_next_message() -> None:
    riders, now = lively()
    assert riders.offer("b", [price(1)], now, link_is_free=True) == ()
    assert riders.next_deadline() == now + WAIT
    assert riders.board("b", now + 1) == (price(1),)
    assert riders.next_deadline() is None
    assert told(riders) == (1, 0)


def test_a_price_takes_as_many_bytes_as_counted() -> None:
    sequence = NOW // (50 * MILLISECOND)
    assert value_size(PriceRecord(1 << 62, sequence, 0.3)) == RIDER_BYTES


def test_a_price_that_no_message_takes_goes_alone() -> None:
    riders, now = lively()
    riders.offer("b", [price(1)], now, link_is_free=True)
    assert riders.overdue(now + WAIT - 1) == []
    assert riders.overdue(now + WAIT) == [("b", (price(1),))]
    assert riders.board("b", now + WAIT) == ()
    assert told(riders) == (0, 1)


def test_nothing_waits_where_messages_are_queued_or_rare() -> None:
    riders, now = lively()
    assert riders.offer("b", [price(1)], now, link_is_free=False) == (price(1),)
    riders, now = lively(gap_ns=50 * MILLISECOND)
    assert riders.offer("b", [price(1)], now, link_is_free=True) == (price(1),)
    riders, now = lively(messages=3)
    assert riders.offer("b", [price(1)], now, link_is_free=True) == (price(1),)


def test_where_messages_cease_prices_stop_to_wait() -> None:
    riders, now = lively()
    waited = 0
    for sequence in range(40):
        now += 50 * MILLISECOND
        if not riders.offer("b", [price(sequence)], now, link_is_free=True):
            waited += 1
            assert riders.overdue(now + WAIT)
    assert 0 < waited < 4


def test_only_the_latest_price_of_a_link_waits() -> None:
    riders, now = lively()
    riders.offer("b", [price(1)], now, link_is_free=True)
    riders.offer("b", [price(2)], now + 1, link_is_free=True)
    assert riders.next_deadline() == now + WAIT, "the first has waited since then"
    assert riders.board("b", now + 2) == (price(2),)


def test_a_message_takes_a_bounded_number() -> None:
    riders, now = lively()
    many = [price(1, link) for link in range(MOST_RIDERS + 1)]
    assert riders.offer("b", many, now, link_is_free=True) == tuple(many)


def test_a_link_that_is_lost_takes_what_waited_with_it() -> None:
    riders, now = lively()
    riders.offer("b", [price(1)], now, link_is_free=True)
    riders.link_down("b")
    assert riders.next_deadline() is None
    assert riders.overdue(now + SECOND) == []
    assert riders.board("b", now) == ()
    assert riders.offer("b", [price(2)], now, link_is_free=True) == ()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["message", "price", "time"]),
            st.integers(0, 20 * MILLISECOND),
            st.integers(0, 2 * MOST_RIDERS),
            st.booleans(),
        ),
        max_size=120,
    )
)
def test_every_link_s_last_price_leaves_within_the_wait(
    events: list[tuple[str, int, int, bool]],
) -> None:
    riders, now = lively()
    offered: dict[int, tuple[int, Instant]] = {}
    left: dict[int, int] = {}

    def leave(records: tuple[PriceRecord, ...]) -> None:
        for record in records:
            assert record.sequence > left.get(record.link, 0), "a price leaves once"
            left[record.link] = record.sequence

    def tick() -> None:
        for _, records in riders.overdue(now):
            leave(records)

    for sequence, (kind, pause_ns, link, free) in enumerate(events, 1):
        deadline = riders.next_deadline()
        end = now + pause_ns
        while deadline is not None and deadline <= end:
            now = deadline
            tick()
            deadline = riders.next_deadline()
        now = end
        if kind == "message":
            leave(riders.board("b", now))
        elif kind == "price":
            offered[link] = (sequence, now)
            leave(riders.offer("b", [price(sequence, link)], now, link_is_free=free))
    now += WAIT
    tick()
    assert left == {link: sequence for link, (sequence, _) in offered.items()}
