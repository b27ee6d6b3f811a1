"""The receiving end: order, repetitions, confirmations, and members without room."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Effect, Send
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import (
    Destination,
    GroupDelivery,
    Multicast,
    Reception,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.streams.inbound import CONFIRM_NS, Inbound

NOW = 1_700_000_000 * SECOND
STAMP = NOW & 0xFFFF_FFFF
BATCH = Batch.from_rows([({}, bytes(100))])


class Receiver:
    """Broker b with one member of group g."""

    def __init__(self, window_bytes: int = 1 << 20) -> None:
        parameters = MulticastParameters()
        self.members = Members(parameters)
        self.members.join("m", "client/1", "g", window_bytes)
        self.inbound = Inbound("b", NOW, parameters, self.members)
        self.out: list[Effect] = []
        self.now = NOW

    def take(
        self,
        position: int,
        *,
        first_sequence: int | None = None,
        origin: str = "a",
        incarnation: int = 1,
        stamp: int = STAMP,
        floor: int = 1,
    ) -> Reception | None:
        sequence = position if first_sequence is None else first_sequence
        destination = Destination("b", stamp, position, floor)
        message = Multicast(
            origin, incarnation, "s", sequence, ("g",), (destination,), 0.0, (), 1, BATCH
        )
        return self.inbound.arrived(message, destination, self.now, self.out)

    @property
    def delivered(self) -> list[int]:
        messages = [each.message for each in self.out if isinstance(each, Send)]
        return [each.first_sequence for each in messages if isinstance(each, GroupDelivery)]


def test_messages_are_delivered_in_order_and_a_gap_is_confirmed_at_once() -> None:
    receiver = Receiver()
    first = receiver.take(1)
    assert first is not None, "the first confirmation does not wait"
    assert (first.receiver, first.position, first.seen) == ("b", 2, 2)
    assert receiver.take(3) == Reception("a", 1, "b", 2, 4, 0)
    assert receiver.delivered == [1]
    receiver.take(2)
    assert receiver.delivered == [1, 2, 3]
    receiver.inbound.check_invariants()


def test_confirmations_of_another_broker_wait_and_are_shared() -> None:
    receiver = Receiver()
    receiver.take(1)
    assert receiver.take(2) is None
    assert receiver.take(3) is None
    due = receiver.inbound.next_deadline()
    assert due == NOW + CONFIRM_NS
    assert receiver.inbound.deadline(NOW + MILLISECOND) == []
    (confirmation,) = receiver.inbound.deadline(due)
    assert (confirmation.position, confirmation.held_ns) == (4, CONFIRM_NS)
    assert receiver.inbound.next_deadline() is None


def test_a_stream_of_this_broker_is_always_confirmed_at_once() -> None:
    receiver = Receiver()
    for position in (1, 2, 3):
        confirmation = receiver.take(position, origin="b")
        assert confirmation is not None
        assert confirmation.position == position + 1


def test_numbers_of_a_sender_are_delivered_once_whichever_stream_brings_them() -> None:
    receiver = Receiver()
    receiver.take(1, first_sequence=5)
    receiver.take(1, first_sequence=5, origin="c")
    assert receiver.delivered == [5]
    assert receiver.inbound.repeated_rows == 1
    assert receiver.inbound.delivered_rows == 1


@pytest.mark.parametrize("stamp", [STAMP - 1, 0])
def test_a_message_for_an_earlier_incarnation_is_ignored(stamp: int) -> None:
    receiver = Receiver()
    assert receiver.take(1, stamp=stamp) is None
    assert receiver.delivered == []


def test_a_restarted_origin_begins_a_new_stream() -> None:
    receiver = Receiver()
    receiver.take(1, incarnation=1)
    receiver.take(9, first_sequence=2, incarnation=2, floor=9)
    assert receiver.take(2, first_sequence=3, incarnation=1) is None
    assert receiver.delivered == [1, 2]


def test_a_stream_waits_for_a_member_without_room_and_resumes() -> None:
    receiver = Receiver(window_bytes=1)
    receiver.take(1)
    held = receiver.take(2, origin="a")
    assert receiver.delivered == [1]
    assert receiver.inbound.held_origins() == ["a"]
    assert receiver.inbound.held_streams == 1
    assert held is None, "what waits for a member is not missing"
    receiver.members.taken("m", "client/1", 1 << 20)
    confirmation = receiver.inbound.resume("a", NOW, receiver.out)
    assert confirmation.position == 3
    assert receiver.delivered == [1, 2]
    assert receiver.inbound.held_origins() == []
