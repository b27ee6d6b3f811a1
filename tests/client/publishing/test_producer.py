"""The producer by itself: when it sends, what it resends, and that every row gets one outcome."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.client.errors import (
    Disconnected,
    InvalidAttribute,
    ProtocolViolation,
    PublisherTakenOver,
    PublishRefusedError,
    PublishUncertain,
)
from penstock.client.publishing.limits import BUSY_BATCHES, BUSY_TIMES, PublishLimits
from penstock.client.publishing.parcel import Parcel
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.receipts import Receipt
from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND
from penstock.core.intervals import IntervalSet
from penstock.core.message import Message
from penstock.services.guaranteed.messages import (
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
)

ROOM = 1 << 30


def opened(
    limits: PublishLimits | None = None, *, next_sequence: int = 0, instance: int = 0
) -> Producer:
    producer = Producer("me", limits or PublishLimits(), instance=instance)
    producer.connected()
    producer.want()
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "", instance)]
    producer.received(ProducerOpened("me", "a.1", next_sequence))
    return producer


def add(producer: Producer, number: int) -> Parcel:
    parcel = producer.add({"n": number}, b"x")
    assert parcel is not None
    return parcel


def numbers(messages: list[Message]) -> list[list[int]]:
    return [[row["n"] for row in each.batch.attribute_rows()] for each in messages]  # type: ignore[attr-defined]


def confirm(producer: Producer, message: Message, first_tick: int = 1000) -> None:
    assert isinstance(message, Publish)
    count = len(message.batch)
    producer.received(PublishReceipt("me", message.first_sequence, count, first_tick))


def test_nothing_is_asked_of_a_broker_before_there_is_something_to_publish() -> None:
    producer = Producer("me", PublishLimits())
    producer.connected()
    assert producer.outgoing(0, ROOM) == []
    add(producer, 1)
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "")]
    assert producer.outgoing(0, ROOM) == []


def test_an_idle_producer_sends_at_once() -> None:
    producer = opened(next_sequence=7)
    parcel = add(producer, 1)
    (publish,) = producer.outgoing(0, ROOM)
    assert publish == Publish("me", 7, publish.batch)  # type: ignore[attr-defined]
    confirm(producer, publish, first_tick=55)
    assert producer.take_settled() == [parcel]
    assert parcel.receipt(0) == Receipt("a.1", 55, 7)


def busy() -> tuple[Producer, list[Message]]:
    """A producer with so many batches on their way that a row waits for company."""
    producer = opened()
    sent: list[Message] = []
    for number in range(BUSY_BATCHES):
        add(producer, -number)
        sent += producer.outgoing(0, ROOM)
    assert len(sent) == BUSY_BATCHES
    return producer, sent


def test_a_busy_producer_fills_batches_until_the_linger_is_over() -> None:
    producer, _ = busy()
    add(producer, 2)
    assert producer.outgoing(10, ROOM) == []
    add(producer, 3)
    due = producer.next_deadline()
    assert due == 10 + 2 * MILLISECOND
    assert producer.outgoing(due - 1, ROOM) == []
    assert numbers(producer.outgoing(due, ROOM)) == [[2, 3]]
    assert producer.next_deadline() is None


def test_a_receipt_makes_the_producer_idle_and_what_waited_goes() -> None:
    producer, (first, *_) = busy()
    add(producer, 2)
    assert producer.outgoing(0, ROOM) == []
    confirm(producer, first)
    assert numbers(producer.outgoing(0, ROOM)) == [[2]]


def test_a_full_batch_and_a_flush_do_not_wait() -> None:
    producer = opened(PublishLimits(batch_rows=2))
    add(producer, 1)
    producer.outgoing(0, ROOM)
    for number in (2, 3, 4):
        add(producer, number)
    assert numbers(producer.outgoing(0, ROOM)) == [[2, 3]]
    producer.flush()
    assert numbers(producer.outgoing(0, ROOM)) == [[4]]


def test_batches_grow_while_many_are_on_their_way() -> None:
    producer = opened(PublishLimits(batch_rows=2))
    for number in range(2 * BUSY_BATCHES + 2 * BUSY_TIMES):
        add(producer, number)
    sent = producer.outgoing(0, ROOM)
    assert [len(rows) for rows in numbers(sent)] == [2] * BUSY_BATCHES + [2 * BUSY_TIMES]
    for message in sent:
        confirm(producer, message)
    for number in range(16, 19):
        add(producer, number)
    # That one was begun when the way was full; the next begins with a free one.
    assert [len(rows) for rows in numbers(producer.outgoing(0, ROOM))] == [3]
    for number in range(19, 22):
        add(producer, number)
    assert [len(rows) for rows in numbers(producer.outgoing(0, ROOM))] == [2]


def test_bytes_fill_a_batch_too() -> None:
    producer = opened(PublishLimits(batch_bytes=1000))
    for number in range(4):
        producer.add({"n": number}, b"x" * 400)
    producer.flush()
    assert numbers(producer.outgoing(0, ROOM)) == [[0, 1], [2, 3]]
    producer.add({"n": 4}, b"x" * 2000)
    assert producer.is_full


def test_no_more_is_sent_than_the_connection_has_room_for() -> None:
    producer = opened(PublishLimits(batch_rows=1))
    for number in range(3):
        add(producer, number)
    assert producer.outgoing(0, 0) == []
    assert numbers(producer.outgoing(0, 1)) == [[0]]
    assert producer.has_batches_to_send
    assert numbers(producer.outgoing(0, ROOM)) == [[1], [2]]


def test_without_room_there_is_no_deadline_that_has_passed() -> None:
    producer, _ = busy()
    add(producer, 2)
    producer.outgoing(0, ROOM)
    assert producer.next_deadline() is not None
    assert producer.outgoing(10 * MILLISECOND, 0) == []
    assert producer.next_deadline() is None
    producer.outgoing(10 * MILLISECOND, ROOM)
    assert producer.next_deadline() == 12 * MILLISECOND


def test_a_full_window_takes_nothing_until_a_receipt_makes_room() -> None:
    producer = opened(PublishLimits(window_bytes=100))
    add(producer, 1)
    parcel = add(producer, 2)
    assert not producer.has_room
    assert producer.add({"n": 3}, b"") is None
    assert producer.add_batch(Batch.from_rows([({}, b"")])) is None
    (publish,) = producer.outgoing(0, ROOM)
    assert producer.held_bytes == publish.batch.wire_size  # type: ignore[attr-defined]
    assert producer.unsettled() == [parcel]
    confirm(producer, publish)
    assert producer.held_bytes == 0
    assert producer.has_room
    assert producer.unsettled() == []


def test_the_caller_may_go_on_to_use_its_objects() -> None:
    producer = opened()
    attributes, payload = {"n": 1}, bytearray(b"one")
    producer.add(attributes, payload)
    attributes["n"] = 2
    payload[:] = b"two"
    (publish,) = producer.outgoing(0, ROOM)
    assert isinstance(publish, Publish)
    assert publish.batch.attributes(0) == {"n": 1}
    assert bytes(publish.batch.payload(0)) == b"one"


def test_what_is_no_row_is_refused_at_the_call() -> None:
    producer = opened()
    with pytest.raises(TypeError, match="encode it first"):
        producer.add({}, "text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not int"):
        producer.add({}, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mapping"):
        producer.add([1], b"")  # type: ignore[arg-type]
    assert producer.add(None, memoryview(b"fine")) is not None


def test_a_row_that_cannot_travel_settles_without_the_broker() -> None:
    producer = opened()
    parcel = producer.add({"n": object()}, b"")  # type: ignore[dict-item]
    assert producer.outgoing(0, ROOM) == []
    assert parcel is not None
    assert producer.take_settled() == [parcel]
    with pytest.raises(InvalidAttribute):
        parcel.receipt(0)
    assert producer.held_bytes == 0


def test_a_batch_goes_behind_the_rows_before_it() -> None:
    producer = opened()
    add(producer, 1)
    producer.add_batch(Batch.from_rows([({"n": 2}, b""), ({"n": 3}, b"")]))
    add(producer, 4)
    producer.flush()
    assert numbers(producer.outgoing(0, ROOM)) == [[1], [2, 3], [4]]


def test_after_a_reconnection_everything_in_flight_is_sent_again_under_its_numbers() -> None:
    producer = opened(PublishLimits(batch_rows=1))
    parcels = [add(producer, number) for number in range(3)]
    first, second, third = producer.outgoing(0, ROOM)
    confirm(producer, first)
    producer.disconnected()
    assert producer.outgoing(0, ROOM) == []
    add(producer, 3)
    producer.connected()
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "a.1", resumes=True)]
    producer.received(ProducerOpened("me", "a.1", 2))
    assert producer.outgoing(0, ROOM)[:2] == [second, third]
    producer.received(PublishReceipt("me", 1, 1, 0))
    assert parcels[1].receipt(0) == Receipt("a.1", None, 1)
    assert producer.next_sequence == 4


def test_the_broker_says_where_the_numbers_begin_unless_the_caller_does() -> None:
    producer = Producer("me", PublishLimits(), first_sequence=3)
    producer.connected()
    add(producer, 1)
    producer.outgoing(0, ROOM)
    producer.received(ProducerOpened("me", "a.1", 10))
    (publish,) = producer.outgoing(0, ROOM)
    assert isinstance(publish, Publish)
    assert publish.first_sequence == 3


def test_a_refused_publication_fails_alone() -> None:
    producer = opened(PublishLimits(batch_rows=1))
    first, second = add(producer, 0), add(producer, 1)
    producer.outgoing(0, ROOM)
    producer.received(PublishRefused("me", 0, 1, "the disk is full"))
    producer.received(PublishReceipt("me", 1, 1, 9))
    with pytest.raises(PublishRefusedError, match="the disk is full") as raised:
        first.receipt(0)
    assert (raised.value.pubend, raised.value.first_sequence, raised.value.count) == ("a.1", 0, 1)
    assert second.receipt(0).tick == 9


def test_a_broker_without_pubends_fails_what_waits_and_may_be_asked_again() -> None:
    producer = Producer("me", PublishLimits(), pubend="b.1")
    producer.connected()
    parcel = add(producer, 1)
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "b.1")]
    producer.received(ProducerRefused("me", "no pubend 'b.1'"))
    with pytest.raises(PublishRefusedError, match=r"no pubend 'b\.1'"):
        parcel.receipt(0)
    assert producer.refusal is not None
    assert producer.refusal.reason == "no pubend 'b.1'"
    assert producer.outgoing(0, ROOM) == []
    add(producer, 2)
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "b.1")]


def test_another_broker_cannot_tell_what_became_of_what_was_in_flight() -> None:
    producer = opened(PublishLimits(batch_rows=1))
    sent = add(producer, 1)
    producer.outgoing(0, ROOM)
    producer.disconnected()
    unsent = add(producer, 2)
    producer.connected()
    producer.outgoing(0, ROOM)
    producer.received(ProducerRefused("me", "broker 'b' hosts no pubend 'a.1'"))
    with pytest.raises(PublishUncertain, match=r"pubend 'a\.1'.*hosts no pubend"):
        sent.receipt(0)
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "")]
    producer.received(ProducerOpened("me", "b.1", 0))
    (publish,) = producer.outgoing(0, ROOM)
    confirm(producer, publish, first_tick=5)
    assert unsent.receipt(0) == Receipt("b.1", 5, 1)


def test_closing_settles_everything() -> None:
    producer = opened(PublishLimits(batch_rows=1))
    sent = add(producer, 1)
    producer.outgoing(0, ROOM)
    unsent = add(producer, 2)
    producer.close("the program ends")
    assert producer.take_settled() == [sent, unsent]
    with pytest.raises(PublishUncertain):
        sent.receipt(0)
    with pytest.raises(Disconnected, match="the program ends"):
        unsent.receipt(0)
    assert producer.add({}, b"") is None
    assert producer.held_bytes == 0


@pytest.mark.parametrize(
    "answer",
    [
        PublishReceipt("me", 5, 1, 9),
        PublishReceipt("me", 0, 2, 9),
        PublishRefused("me", 1, 1, "why"),
    ],
)
def test_an_answer_to_nothing_is_a_violation(answer: PublishReceipt | PublishRefused) -> None:
    producer = opened()
    add(producer, 1)
    producer.outgoing(0, ROOM)
    with pytest.raises(ProtocolViolation):
        producer.received(answer)


def test_another_pubend_than_the_one_asked_for_is_a_violation() -> None:
    producer = Producer("me", PublishLimits(), pubend="a.1")
    with pytest.raises(ProtocolViolation, match=r"a\.2"):
        producer.received(ProducerOpened("me", "a.2", 0))


class ModelPubend:
    """Stores each number once; refuses when told to."""

    def __init__(self) -> None:
        self.numbers = IntervalSet()
        self.stored: list[tuple[int, int]] = []

    def answer(self, message: Message, *, refuse: bool) -> Message:
        if isinstance(message, OpenProducer):
            highest = max((high for _, high in self.numbers), default=0)
            return ProducerOpened(message.producer, "a.1", highest)
        assert isinstance(message, Publish)
        first, count = message.first_sequence, len(message.batch)
        fresh = self.numbers.gaps(first, first + count)
        if not fresh:
            return PublishReceipt(message.producer, first, count, 0)
        if refuse:
            return PublishRefused(message.producer, first, count, "refused")
        tick = 1 + len(self.stored)
        rows = [row["n"] for row in message.batch.attribute_rows()]
        for low, high in fresh:
            self.numbers.add(low, high)
            self.stored += [(number, rows[number - first]) for number in range(low, high)]
        return PublishReceipt(message.producer, first, count, tick)


class Conversation(RuleBasedStateMachine):
    """Any interleaving of publishing, sending, storing, refusing, hearing and losing touch."""

    @initialize(rows=st.integers(1, 4), window=st.integers(200, 3000))
    def begin(self, rows: int, window: int) -> None:
        self.producer = Producer("me", PublishLimits(batch_rows=rows, window_bytes=window))
        self.pubend = ModelPubend()
        self.to_broker: deque[Message] = deque()
        self.to_client: deque[Message] = deque()
        self.now = 0
        self.published: list[tuple[Parcel, int, int]] = []
        self.settled: list[Parcel] = []
        self.refused_anything = False
        self.producer.connected()

    @rule(count=st.integers(1, 6))
    def publish_rows(self, count: int) -> None:
        for _ in range(count):
            number = len(self.published)
            parcel = self.producer.add({"n": number}, b"")
            if parcel is not None:
                self.published.append((parcel, len(parcel.rows) - 1, number))

    @rule(count=st.integers(1, 6))
    def publish_batch(self, count: int) -> None:
        first = len(self.published)
        rows = [({"n": first + row}, b"") for row in range(count)]
        parcel = self.producer.add_batch(Batch.from_rows(rows))
        if parcel is not None:
            self.published += [(parcel, row, first + row) for row in range(count)]

    @rule(room=st.sampled_from([1, 400, ROOM]), wait=st.integers(0, 3 * MILLISECOND))
    def send(self, room: int, wait: int) -> None:
        self.now += wait
        self.to_broker += self.producer.outgoing(self.now, room)

    @precondition(lambda self: self.to_broker)
    @rule(refuse=st.booleans())
    def broker_answers(self, refuse: bool) -> None:
        answer = self.pubend.answer(self.to_broker.popleft(), refuse=refuse)
        self.refused_anything |= isinstance(answer, PublishRefused)
        self.to_client.append(answer)

    @precondition(lambda self: self.to_client)
    @rule()
    def client_hears(self) -> None:
        self.producer.received(self.to_client.popleft())  # type: ignore[arg-type]
        self.settled += self.producer.take_settled()

    @rule()
    def flush(self) -> None:
        self.producer.flush()

    @rule()
    def lose_touch(self) -> None:
        self.to_broker.clear()
        self.to_client.clear()
        self.producer.disconnected()
        self.producer.connected()

    @invariant()
    def possible(self) -> None:
        if hasattr(self, "producer"):
            self.producer.check_invariants()

    def teardown(self) -> None:
        if not hasattr(self, "producer"):
            return
        self.lose_touch()
        while self.producer.unsettled():
            self.send(ROOM, 3 * MILLISECOND)
            while self.to_broker:
                self.broker_answers(refuse=False)
            while self.to_client:
                self.client_hears()
        self.settled += self.producer.take_settled()
        assert self.producer.held_bytes == 0
        self.check_outcomes()

    def check_outcomes(self) -> None:
        parcels = list(dict.fromkeys(parcel for parcel, _, _ in self.published))
        assert sorted(map(id, self.settled)) == sorted(map(id, parcels))
        stored = dict(self.pubend.stored)
        assert len(stored) == len(self.pubend.stored)
        for parcel, row, number in self.published:
            try:
                receipt = parcel.receipt(row)
            except PublishRefusedError:
                assert number not in stored.values()
                continue
            assert stored[receipt.sequence] == number
            if receipt.tick is not None:
                assert self.pubend.stored[receipt.tick - 1] == (receipt.sequence, number)
        if not self.refused_anything:
            assert [number for _, number in self.pubend.stored] == [
                number for _, _, number in self.published
            ]


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=75, stateful_step_count=40, deadline=None)


# -- publishers of one name -----------------------------------------------------------------


def test_a_publisher_that_was_replaced_does_not_know_what_became_of_what_is_in_flight() -> None:
    producer = opened()
    in_flight = add(producer, 1)
    (publish,) = producer.outgoing(0, ROOM)
    assert isinstance(publish, Publish)
    unsent = add(producer, 1)
    producer.received(ProducerRefused("me", "another publisher named 'me'", taken_over=True))

    with pytest.raises(PublishUncertain, match="another publisher named 'me'"):
        in_flight.receipt(0)
    with pytest.raises(PublisherTakenOver):
        unsent.receipt(0)
    producer.received(PublishReceipt("me", publish.first_sequence, 1, 7))
    producer.check_invariants()


def test_a_publisher_that_was_replaced_is_told_again_when_it_goes_on() -> None:
    producer = opened()
    producer.received(ProducerRefused("me", "another publisher named 'me'", taken_over=True))
    parcel = add(producer, 1)
    (ask,) = producer.outgoing(0, ROOM)
    assert isinstance(ask, OpenProducer)
    assert ask.resumes
    producer.received(ProducerRefused("me", "another publisher named 'me'", taken_over=True))

    with pytest.raises(PublisherTakenOver):
        parcel.receipt(0)


def test_a_publisher_that_goes_to_another_pubend_takes_its_name_there_anew() -> None:
    """An old record of the name there says nothing of this publisher."""
    producer = opened(instance=7)
    producer.disconnected()
    producer.connected()
    add(producer, 1)
    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "a.1", 7, True)]
    producer.received(ProducerRefused("me", "no pubend 'a.1'"))

    assert producer.outgoing(0, ROOM) == [OpenProducer("me", "", 7, False)]
