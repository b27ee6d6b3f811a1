"""The reader by itself, and against the edge's own half of the protocol."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.client.errors import (
    DataLoss,
    Disconnected,
    ProtocolViolation,
    SubscribeRefusedError,
)
from penstock.client.guaranteed.message import Message, MessageBatch
from penstock.client.guaranteed.reader import (
    ACKNOWLEDGE_INTERVAL,
    MAX_LOSSES,
    Reader,
    ReaderOptions,
)
from penstock.client.guaranteed.start import Start
from penstock.client.life_cycle import ReaderPhase
from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.content.selectors.parser import parse
from penstock.core.machine import Effect, Send
from penstock.core.message import Message as WireMessage
from penstock.services.guaranteed.edge import subscription as edge
from penstock.services.guaranteed.messages import (
    Consumed,
    Delivery,
    Subscribe,
    Subscribed,
    SubscribeRefused,
    Taken,
    Unsubscribe,
    Unsubscribed,
)


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = [({"tick": tick}, b"x") for tick in ticks]
    if not ticks:
        return Frame(low, high)
    return Frame(low, high, range(ticks[0], ticks[-1] + 1), Batch.from_rows(rows))


SINCE = 7
"""When the broker says that the subscription was made."""


def in_force(
    options: ReaderOptions | None = None, positions: dict[str, int] | None = None
) -> Reader:
    reader = Reader("s", "", Start(), options or ReaderOptions())
    reader.connected()
    assert [type(each) for each in reader.outgoing(0)] == [Subscribe]
    reader.received(Subscribed("s", {"p": 10} if positions is None else positions, SINCE))
    return reader


def deliver(reader: Reader, piece: Frame, pubend: str = "p") -> None:
    reader.received(Delivery("s", pubend, piece))


def take(reader: Reader) -> MessageBatch:
    batch = reader.take()
    assert isinstance(batch, MessageBatch)
    return batch


def test_it_asks_for_what_the_application_asked_for() -> None:
    start = Start("time", 5, {"p": 7})
    reader = Reader("s", "n = 1", start, ReaderOptions(durable=True, window_bytes=99))
    assert reader.outgoing(0) == []
    reader.connected()
    assert reader.outgoing(0) == [
        Subscribe(
            "s",
            "n = 1",
            durable=True,
            start="time",
            start_time=5,
            positions={"p": 7},
            window_bytes=99,
        )
    ]
    assert reader.outgoing(0) == []


def test_what_arrives_is_taken_in_order() -> None:
    reader = in_force()
    deliver(reader, frame(10, 20, 12, 13))
    deliver(reader, frame(20, 30))
    deliver(reader, frame(30, 40, 31))
    assert [message.tick for message in take(reader)] == [12, 13]
    assert [message.tick for message in take(reader)] == [31]
    assert reader.take() is None
    assert reader.positions() == {"p": 40}


def test_a_piece_before_the_confirmation_counts() -> None:
    reader = Reader("s", "", Start("earliest"), ReaderOptions())
    reader.connected()
    reader.outgoing(0)
    deliver(reader, frame(5, 20, 12))
    reader.received(Subscribed("s", {"p": 20, "q": 3}))
    assert reader.phase is ReaderPhase.OPEN
    assert len(take(reader)) == 1
    assert reader.positions() == {"p": 5, "q": 3}


def test_a_repetition_is_a_violation() -> None:
    reader = in_force()
    deliver(reader, frame(10, 20, 12))
    with pytest.raises(ProtocolViolation, match="up to 20, then again from 19"):
        deliver(reader, frame(19, 30, 25))


def test_room_is_returned_a_quarter_at_a_time_or_when_it_is_time_to_tell() -> None:
    piece = frame(10, 20, 12)
    reader = in_force(ReaderOptions(window_bytes=8 * piece.weight))
    for low in range(10, 60, 10):
        deliver(reader, frame(low, low + 10, low + 2))
    take(reader)
    assert reader.outgoing(0) == [Taken("s", piece.weight)]
    take(reader)
    assert reader.outgoing(0) == []
    take(reader)
    assert reader.outgoing(0) == [Taken("s", 2 * piece.weight)]
    take(reader)
    told_at = reader.next_deadline()
    assert told_at is not None
    assert reader.outgoing(told_at - 1) == []
    assert reader.outgoing(told_at) == [Taken("s", piece.weight)]
    assert reader.next_deadline() is None


def test_going_through_the_messages_finishes_all_but_the_one_in_hand() -> None:
    reader = in_force(ReaderOptions(durable=True))
    deliver(reader, frame(10, 20, 12, 13, 14))
    rows = reader.rows_of(take(reader))
    assert reader.positions() == {"p": 10}
    next(rows)
    assert reader.positions() == {"p": 10}
    next(rows)
    assert reader.positions() == {"p": 13}
    next(rows)
    assert reader.positions() == {"p": 14}
    assert reader.take() is None
    assert reader.positions() == {"p": 20}


def test_a_batch_is_finished_when_the_next_is_asked_for() -> None:
    reader = in_force(ReaderOptions(durable=True))
    deliver(reader, frame(10, 20, 12, 13))
    assert list(take(reader))
    assert reader.positions() == {"p": 10}
    assert reader.unfinished == 2
    assert reader.take() is None
    assert reader.positions() == {"p": 20}
    assert reader.unfinished == 0


def test_explicit_acknowledgement_moves_the_contiguous_prefix() -> None:
    reader = in_force(ReaderOptions(explicit=True))
    deliver(reader, frame(10, 20, 12, 13))
    deliver(reader, frame(20, 30, 22))
    first, second = take(reader), take(reader)
    second.ack()
    assert reader.positions() == {"p": 10}
    messages = list(first)
    messages[1].ack()
    assert reader.positions() == {"p": 10}
    messages[0].ack()
    messages[0].ack()
    assert reader.positions() == {"p": 30}
    assert reader.unfinished == 0


def test_acknowledging_is_not_needed_where_asking_for_more_is_enough() -> None:
    reader = in_force()
    deliver(reader, frame(10, 20, 12, 13))
    batch = take(reader)
    batch.ack()
    assert reader.positions() == {"p": 10}


def test_whoever_acknowledges_nothing_gets_no_more() -> None:
    reader = in_force(ReaderOptions(explicit=True, max_unfinished=2))
    deliver(reader, frame(10, 20, 12, 13))
    deliver(reader, frame(20, 30, 22))
    batch = take(reader)
    assert reader.is_held_back
    assert reader.take() is None
    next(iter(batch)).ack()
    assert not reader.is_held_back
    assert [message.tick for message in take(reader)] == [22]


def test_positions_of_a_durable_subscription_are_told_now_and_then() -> None:
    reader = in_force(ReaderOptions(durable=True))
    assert reader.outgoing(0) == [Consumed("s", {"p": 10})]
    for low in (10, 20):
        deliver(reader, frame(low, low + 10, low + 2))
        take(reader)
    assert reader.outgoing(ACKNOWLEDGE_INTERVAL - 1) == []
    assert reader.next_deadline() == ACKNOWLEDGE_INTERVAL
    taken = Taken("s", 2 * frame(10, 20, 12).weight)
    assert reader.outgoing(ACKNOWLEDGE_INTERVAL) == [taken, Consumed("s", {"p": 20})]
    assert reader.take() is None
    assert reader.outgoing(2 * ACKNOWLEDGE_INTERVAL) == [Consumed("s", {"p": 30})]
    assert reader.next_deadline() is None
    assert reader.outgoing(3 * ACKNOWLEDGE_INTERVAL) == []


def test_one_that_is_not_durable_tells_no_positions() -> None:
    reader = in_force()
    deliver(reader, frame(10, 20, 12))
    take(reader)
    assert [type(each) for each in reader.outgoing(0)] == [Taken]
    assert reader.next_deadline() is None


def test_a_loss_is_raised_at_its_place() -> None:
    reader = in_force()
    deliver(reader, frame(10, 20, 12))
    deliver(reader, Frame(20, 30, final=True))
    deliver(reader, frame(30, 40, 31))
    take(reader)
    loss = reader.take()
    assert isinstance(loss, DataLoss)
    assert (loss.subscription, loss.pubend, loss.low, loss.high) == ("s", "p", 20, 30)
    assert [message.tick for message in take(reader)] == [31]
    assert {pubend: list(lost) for pubend, lost in reader.lost.items()} == {"p": [(20, 30)]}


def test_a_loss_may_be_passed_over_and_is_remembered_within_a_bound() -> None:
    reader = in_force(ReaderOptions(skip_losses=True), positions={"p": 0})
    for low in range(0, 4 * MAX_LOSSES + 8, 4):
        deliver(reader, Frame(low, low + 2, final=True))
        deliver(reader, frame(low + 2, low + 4))
    assert reader.take() is None
    assert len(reader.lost["p"]) == MAX_LOSSES


def test_what_was_not_taken_is_asked_for_again() -> None:
    reader = in_force()
    deliver(reader, frame(10, 20, 12))
    deliver(reader, frame(20, 30, 22))
    take(reader)
    reader.disconnected("the connection was lost")
    assert reader.take() is None
    reader.connected()
    (subscribe,) = reader.outgoing(500)
    assert isinstance(subscribe, Subscribe)
    assert (subscribe.start, subscribe.since, subscribe.positions) == ("now", SINCE, {"p": 20})
    deliver(reader, frame(20, 40, 22, 23))
    assert [message.tick for message in take(reader)] == [22, 23]


def test_one_that_was_in_force_before_any_pubend_was_known_says_since_when() -> None:
    """Otherwise what is published while its broker is away would be left out silently."""
    reader = in_force(positions={})
    reader.disconnected("the broker stopped")
    reader.connected()
    (subscribe,) = reader.outgoing(500)
    assert isinstance(subscribe, Subscribe)
    assert subscribe.since == SINCE
    reader.received(Subscribed("s", {}, SINCE + 100))
    reader.disconnected("the broker stopped")
    reader.connected()
    (again,) = reader.outgoing(600)
    assert isinstance(again, Subscribe)
    assert again.since == SINCE, "the first promise counts"


def test_one_that_was_never_in_force_was_promised_nothing() -> None:
    reader = Reader("s", "", Start("now", 0, {"q": 5}), ReaderOptions())
    reader.connected()
    reader.outgoing(0)
    deliver(reader, frame(10, 20, 12))
    take(reader)
    reader.disconnected("the connection was lost")
    reader.connected()
    (subscribe,) = reader.outgoing(500)
    assert isinstance(subscribe, Subscribe)
    assert subscribe.since == 0
    assert subscribe.positions == {"q": 5, "p": 20}


def test_what_is_done_is_let_go_although_nobody_asks_for_the_position() -> None:
    reader = in_force()
    for low in range(10, 2010, 10):
        deliver(reader, frame(low, low + 10, low + 2))
        take(reader)

    assert sum(len(ledger._pieces) for ledger in reader._ledgers.values()) <= 1


def test_a_deletion_that_failed_is_an_error() -> None:
    reader = in_force(ReaderOptions(durable=True))
    reader.close(forget=True)
    reader.outgoing(0)
    reader.received(Unsubscribed("s", "it could not be deleted: the disk is full"))

    assert reader.is_over
    assert "could not be deleted" in str(reader.error)


def test_a_durable_one_asks_from_its_position_and_passes_over_what_was_taken() -> None:
    reader = in_force(ReaderOptions(durable=True, explicit=True))
    deliver(reader, frame(10, 20, 12, 13))
    held = take(reader)
    reader.disconnected("the connection was lost")
    reader.connected()
    (subscribe,) = reader.outgoing(0)
    assert isinstance(subscribe, Subscribe)
    assert subscribe.positions == {"p": 10}
    reader.received(Subscribed("s", {"p": 10}))
    again, further = frame(10, 18, 12, 13), frame(18, 30, 22)
    deliver(reader, again)
    deliver(reader, further)
    assert [message.tick for message in take(reader)] == [22]
    out = reader.outgoing(0)
    assert Taken("s", again.weight + further.weight) in out
    held.ack()
    assert reader.positions() == {"p": 20}


def test_a_refusal_ends_it() -> None:
    reader = Reader("s", "", Start(), ReaderOptions())
    reader.connected()
    reader.outgoing(0)
    reader.received(SubscribeRefused("s", "no such thing"))
    assert reader.is_over
    assert isinstance(reader.error, SubscribeRefusedError)
    reader.connected()
    assert reader.outgoing(0) == []


def test_who_was_refused_has_nothing_to_tell_at_any_time() -> None:
    """Room may be due at that time; a deadline that nobody meets would keep a loop busy."""
    reader = in_force()
    deliver(reader, frame(10, 20, 11))
    take(reader)
    reader.outgoing(0)
    deliver(reader, frame(20, 30, 21))
    take(reader)
    assert reader.next_deadline() is not None
    reader.received(SubscribeRefused("s", "the disk is full"))
    assert reader.next_deadline() is None


def test_a_durable_one_that_was_taken_over_is_not_taken_back() -> None:
    reader = in_force(ReaderOptions(durable=True))
    reader.disconnected("the disk is full", taken_over="another one")
    assert not reader.is_over
    reader.connected()
    reader.disconnected("another connection has it now", taken_over="s")
    assert reader.is_over
    assert isinstance(reader.error, Disconnected)


def test_closing_says_what_was_done_and_waits_for_the_answer() -> None:
    reader = in_force(ReaderOptions(durable=True))
    reader.outgoing(0)
    deliver(reader, frame(10, 20, 12))
    take(reader)
    reader.take()
    reader.close()
    assert reader.outgoing(1) == [Consumed("s", {"p": 20}), Unsubscribe("s")]
    assert reader.outgoing(1) == []
    deliver(reader, frame(20, 30, 22))
    assert not reader.is_over
    reader.received(Unsubscribed("s"))
    assert reader.is_over


def test_closing_without_a_connection_is_immediate_unless_it_must_be_forgotten() -> None:
    reader = Reader("s", "", Start(), ReaderOptions())
    reader.close()
    assert reader.is_over
    durable = Reader("s", "", Start(), ReaderOptions(durable=True))
    durable.close(forget=True)
    assert not durable.is_over
    durable.connected()
    assert durable.outgoing(0) == [Unsubscribe("s", forget=True)]


def test_a_connection_lost_while_closing_ends_it() -> None:
    reader = in_force()
    reader.close()
    reader.outgoing(0)
    reader.disconnected("the connection was lost")
    assert reader.is_over


class Conversation(RuleBasedStateMachine):
    """Any interleaving of streams that go on, deliveries, taking, acknowledging and losing touch.

    The other end is the edge's own account of a subscription.
    """

    @initialize(durable=st.booleans(), explicit=st.booleans(), window=st.integers(100, 2000))
    def begin(self, durable: bool, explicit: bool, window: int) -> None:
        options = ReaderOptions(durable=durable, explicit=explicit, window_bytes=window)
        self.reader = Reader("s", "", Start("earliest"), options)
        self.edge = edge.Subscription(1, "s", parse(""), durable=durable)
        self.streams: dict[str, list[Frame]] = {"p": [], "q": []}
        self.to_client: deque[WireMessage] = deque()
        self.now = 0
        self.seen: dict[str, list[int]] = {"p": [], "q": []}
        self.done: dict[str, set[int]] = {"p": set(), "q": set()}
        self.in_hand: list[Message] = []
        self.reader.connected()

    @rule(pubend=st.sampled_from("pq"), before=st.integers(0, 3), rows=st.integers(0, 4))
    def publish(self, pubend: str, before: int, rows: int) -> None:
        stream = self.streams[pubend]
        low = stream[-1].high if stream else 0
        ticks = range(low + before, low + before + rows)
        stream.append(frame(low, low + before + rows + 1, *ticks))

    @rule()
    def client_speaks(self) -> None:
        self.now += ACKNOWLEDGE_INTERVAL // 2
        out: list[Effect] = []
        for message in self.reader.outgoing(self.now):
            if isinstance(message, Subscribe):
                self.edge.connect("session", message.window_bytes)
                start = {"p": 0, "q": 0}
                self.edge.positions = {**start, **self.edge.consumed, **message.positions}
                for pubend, tick in self.edge.positions.items():
                    self.edge.consumed.setdefault(pubend, tick)
                self.to_client.append(Subscribed("s", dict(self.edge.positions)))
            elif isinstance(message, Taken):
                assert message.count_bytes <= self.edge.under_way_bytes
                self.edge.taken(message.count_bytes, out)
            elif isinstance(message, Consumed):
                self.edge.consume(message.ticks)
        self.to_client += [each.message for each in out if isinstance(each, Send)]

    @precondition(lambda self: self.edge.session is not None)
    @rule(pubend=st.sampled_from("pq"))
    def edge_delivers(self, pubend: str) -> None:
        out: list[Effect] = []
        for piece in self.streams[pubend]:
            if piece.high > self.edge.positions[pubend]:
                self.edge.deliver(pubend, piece, out)
                break
        self.to_client += [each.message for each in out if isinstance(each, Send)]

    @precondition(lambda self: self.to_client)
    @rule()
    def client_hears(self) -> None:
        self.reader.received(self.to_client.popleft())  # type: ignore[arg-type]

    @rule()
    def application_takes(self) -> None:
        batch = self.reader.take()
        if not self.reader.options.explicit:
            for message in self.in_hand:
                self.done[message.pubend].add(message.tick)
            self.in_hand = []
        if batch is not None:
            assert isinstance(batch, MessageBatch)
            self.seen[batch.pubend] += [message["tick"] for message in batch]  # type: ignore[misc]
            self.in_hand += list(batch)

    @precondition(lambda self: self.in_hand and self.reader.options.explicit)
    @rule(choice=st.integers(0, 100))
    def application_acknowledges(self, choice: int) -> None:
        message = self.in_hand.pop(choice % len(self.in_hand))
        message.ack()
        self.done[message.pubend].add(message.tick)

    @rule()
    def lose_touch(self) -> None:
        self.to_client.clear()
        if self.edge.session is not None:
            self.edge.disconnect()
        self.reader.disconnected("the connection was lost")
        self.reader.connected()

    @invariant()
    def nothing_is_done_that_the_application_has_not_done(self) -> None:
        if not hasattr(self, "reader"):
            return
        for positions in (self.reader.positions(), self.edge.consumed):
            for pubend, position in positions.items():
                ticks = [t for piece in self.streams[pubend] for t in piece.ticks if t < position]
                assert set(ticks) <= self.done[pubend]

    @invariant()
    def the_window_holds(self) -> None:
        if hasattr(self, "reader") and self.edge.session is not None:
            heaviest = max((f.weight for s in self.streams.values() for f in s), default=0)
            assert self.edge.under_way_bytes <= max(self.edge.window_bytes, 2 * heaviest)

    def teardown(self) -> None:
        if not hasattr(self, "reader"):
            return
        self.lose_touch()
        published = {
            pubend: [tick for piece in stream for tick in piece.ticks]
            for pubend, stream in self.streams.items()
        }
        for _ in range(4 * sum(map(len, self.streams.values())) + 10):
            self.client_speaks()
            for pubend in "pq":
                self.edge_delivers(pubend)
            while self.to_client:
                self.client_hears()
            self.application_takes()
            while self.in_hand and self.reader.options.explicit:
                self.application_acknowledges(0)
        assert self.seen == published
        self.nothing_is_done_that_the_application_has_not_done()
        assert self.edge.under_way_bytes == 0


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=75, stateful_step_count=40, deadline=None)
