import pytest

from penstock.client.groups.reader import GroupReader, JoinRefusedError
from penstock.client.life_cycle import ReaderPhase
from penstock.content.rows.batch import Batch
from penstock.services.multicast.messages import (
    GroupDelivery,
    GroupJoined,
    GroupLeft,
    GroupTaken,
    JoinGroup,
    LeaveGroup,
)

DELIVERY = GroupDelivery("m", "other", ("g",), 0, Batch.from_rows([({"n": 1}, b"x" * 100)]))


@pytest.fixture
def joined() -> GroupReader:
    reader = GroupReader("m", "g", window_bytes=4)
    reader.connected()
    assert reader.outgoing() == [JoinGroup("m", "g", 4)]
    reader.received(GroupJoined("m", "g", ""))
    assert reader.phase is ReaderPhase.OPEN
    return reader


def test_what_was_taken_is_told(joined: GroupReader) -> None:
    joined.received(DELIVERY)
    assert joined.outgoing() == []
    joined.take()
    assert joined.owes_word
    assert joined.outgoing() == [GroupTaken("m", DELIVERY.batch.wire_size)]


def test_leaving_counts_what_arrives_meanwhile_as_taken(joined: GroupReader) -> None:
    joined.close()
    assert joined.outgoing() == [LeaveGroup("m", "g")]
    joined.received(DELIVERY)
    assert not joined.deliveries
    joined.received(GroupLeft("m", "g"))
    assert joined.is_over
    assert joined.outgoing() == [GroupTaken("m", DELIVERY.batch.wire_size)]


def test_closing_before_the_answer_waits_for_it() -> None:
    reader = GroupReader("m", "g")
    reader.connected()
    reader.outgoing()
    reader.close()
    assert reader.outgoing() == []
    reader.received(GroupJoined("m", "g", ""))
    assert reader.outgoing() == [LeaveGroup("m", "g")]


def test_a_member_joins_again_after_a_reconnection(joined: GroupReader) -> None:
    joined.disconnected()
    joined.connected()
    assert joined.outgoing() == [JoinGroup("m", "g", 4)]
    joined.received(GroupJoined("m", "g", ""))
    assert joined.joins == 2


def test_a_refusal_says_why() -> None:
    reader = GroupReader("m", "g")
    reader.connected()
    reader.outgoing()
    reader.received(GroupJoined("m", "g", "it is full"))
    assert reader.is_over
    assert isinstance(reader.error, JoinRefusedError)
    assert str(reader.error) == "cannot join group 'g': it is full"
