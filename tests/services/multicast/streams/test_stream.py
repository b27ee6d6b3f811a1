"""Both ends of a stream: in order, each once, whatever is lost, repeated or overtaken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.services.multicast.messages import Multicast
from penstock.services.multicast.streams.stream import (
    FIRST_PROBE_NS,
    RECOVERY_BYTES,
    IncomingStream,
    OutgoingStream,
    Transmission,
)

BATCH = Batch.from_rows([({}, b"x")])
LIMIT = 1 << 30


def _message(number: int) -> Multicast:
    return Multicast("a", 1, "s", number, ("g",), (), 0.0, (), 0, BATCH)


def _transmission(number: int, size_bytes: int = 1000) -> Transmission:
    return Transmission(_message(number), "client/1", size_bytes, 0)


@given(st.lists(st.integers(1, 20), max_size=200))
def test_the_receiver_hands_over_a_prefix_in_order(arrivals: list[int]) -> None:
    stream = IncomingStream(1, 1)
    handed: list[int] = []
    for position in arrivals:
        stream.arrived(position, _message(position), 1000, LIMIT)
        while (message := stream.head()) is not None:
            handed.append(message.first_sequence)
            stream.advance()
    expected = 1
    while expected in arrivals:
        expected += 1
    assert handed == list(range(1, expected))
    assert stream.gap == (bool(arrivals) and max(arrivals) >= expected)


@given(st.integers(1, 40), st.lists(st.booleans(), min_size=1, max_size=60))
def test_whatever_is_lost_a_recovery_brings_everything(total: int, arrives: list[bool]) -> None:
    origin, receiver = OutgoingStream(1), IncomingStream(1, 1)
    handed: list[int] = []
    fates = iter(arrives)

    def arrive(position: int, number: int) -> None:
        if not next(fates, True):
            return
        receiver.arrived(position, _message(number), 1000, LIMIT)
        while (message := receiver.head()) is not None:
            handed.append(message.first_sequence)
            receiver.advance()

    for number in range(total):
        arrive(origin.append(_transmission(number), 0), number)
    for second in range(len(arrives) + total):
        origin.confirmed(receiver.expected, 0, second * SECOND)
        origin.recover()
        for position, transmission in origin.resend():
            arrive(position, transmission.message.first_sequence)
    assert handed == list(range(total))


def test_a_recovery_sends_a_piece_at_a_time() -> None:
    stream = OutgoingStream(1)
    for number in range(200):
        stream.append(_transmission(number), 0)
    stream.recover()
    first = [position for position, _ in stream.resend()]
    assert len(first) == RECOVERY_BYTES // 1000 + 1
    assert [position for position, _ in stream.resend()] == [], "not again without progress"
    stream.confirmed(11, 0, SECOND)
    assert [position for position, _ in stream.resend()] == list(
        range(first[-1] + 1, first[-1] + 11)
    )


def test_a_gap_is_filled_and_nothing_else() -> None:
    stream = OutgoingStream(1)
    for number in range(10):
        stream.append(_transmission(number), 0)
    stream.confirmed(4, 0, 1)
    stream.missing(4, 7)
    assert [position for position, _ in stream.resend()] == [4, 5, 6]
    stream.missing(4, 7)
    assert [position for position, _ in stream.resend()] == [], "it is on its way already"


def test_silence_is_probed_with_the_oldest_message_ever_more_seldom() -> None:
    stream = OutgoingStream(1)
    stream.append(_transmission(0), 0)
    stream.append(_transmission(1), 0)
    assert stream.probe_at == FIRST_PROBE_NS
    stream.probe(FIRST_PROBE_NS)
    assert [position for position, _ in stream.resend()] == [1]
    assert stream.probe_at == 3 * FIRST_PROBE_NS
    stream.confirmed(3, 0, SECOND)
    assert stream.probe_at is None


def test_a_round_trip_leaves_out_what_the_receiver_held_it() -> None:
    stream = OutgoingStream(1)
    stream.append(_transmission(0), 0)
    stream.confirmed(2, SECOND // 4, SECOND)
    assert stream.round_trip_ns == SECOND * 3 // 4


def test_what_was_given_up_is_skipped_by_the_receiver() -> None:
    origin, receiver = OutgoingStream(1), IncomingStream(1, 1)
    for number in range(5):
        origin.append(_transmission(number), 0)
    assert len(origin.abandon()) == 5
    position = origin.append(_transmission(5), 0)
    receiver.skip_to(origin.floor)
    receiver.arrived(position, _message(5), 1000, LIMIT)
    head = receiver.head()
    assert head is not None
    assert head.first_sequence == 5


def test_early_messages_are_bounded() -> None:
    stream = IncomingStream(1, 1)
    assert stream.arrived(3, _message(3), 1000, 2500)
    assert stream.arrived(4, _message(4), 1000, 2500)
    assert not stream.arrived(5, _message(5), 1000, 2500)
