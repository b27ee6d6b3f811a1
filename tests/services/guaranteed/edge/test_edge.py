"""The edge: announcing, live delivery, catching up and joining, slow readers, durable ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import CloseSession, Effect, PersistFailed, PersistState, Send
from penstock.core.tokens import Tokens
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    Acknowledgement,
    ClaimsSaved,
    Consumed,
    CursorMoved,
    Delivery,
    DownstreamCongestionQuery,
    DurableClaim,
    Knowledge,
    MoveCursor,
    Nack,
    Subscribe,
    Subscribed,
    SubscribeRefused,
    SubscriptionConfirmed,
    SubscriptionUpdate,
    Taken,
    Unsubscribe,
    Unsubscribed,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters

TREE = Tree("pb", "ib", (), 1, ("p",))
START = 1000


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


ANSWER_BYTES = GuaranteedParameters().answer_bytes


class Bench:
    """An edge with one source, whose relay is played by the test."""

    def __init__(self, saved: dict[str, bytes] | None = None, **parameters: Any) -> None:
        self.edge = Edge("sb", GuaranteedParameters(**parameters), Tokens(), saved or {}, 0)
        self.now = 0
        self.out: list[Effect] = []
        self.edge.trees_changed({"pb": TREE}, self.out)
        self.edge.overlay_settled(0, self.out)
        self.version = 0

    def said(self, kind: type[Any]) -> list[Any]:
        """What was sent of a kind since the last time that anybody asked, and is now forgotten."""
        found = [
            effect.message
            for effect in self.out
            if isinstance(effect, Send) and isinstance(effect.message, kind)
        ]
        self.out = [
            effect
            for effect in self.out
            if not (isinstance(effect, Send) and isinstance(effect.message, kind))
        ]
        return found

    def ordered(self, kind: type[Any]) -> list[Any]:
        found = [effect for effect in self.out if isinstance(effect, kind)]
        self.out = [effect for effect in self.out if not isinstance(effect, kind)]
        return found

    def client(self, session: str, message: Any) -> None:
        """A client's message."""
        self.edge.handlers[type(message)](session, message, self.now, self.out)

    def relay(self, message: Any) -> None:
        """A message of the relay of the same broker."""
        self.edge.relay_handlers[type(message)](LOCAL_RELAY, message, self.now, self.out)

    def subscribe(self, name: str, selector: str = "TRUE", session: str = "c", **more: Any) -> None:
        message = Subscribe(name, selector, **more)
        self.client(session, message)
        self.edge.check_invariants()

    def confirm(self, tick: int = START, earliest: int = 0) -> None:
        updates = self.said(SubscriptionUpdate)
        self.version = updates[-1].version if updates else self.version
        word = SubscriptionConfirmed("pb", self.version, {"p": tick}, {"p": earliest})
        self.relay(word)
        self.edge.check_invariants()

    def hear(self, part: Frame, answer_for: str | None = None, *, more: bool = False) -> None:
        self.relay(Knowledge("p", part, answer_for, more))
        self.edge.check_invariants()

    def rows(self, subscription: str) -> list[int]:
        """The ticks of the rows that a subscriber was given."""
        return [
            int(tick)
            for effect in self.out
            if isinstance(effect, Send)
            and isinstance(effect.message, Delivery)
            and effect.message.subscription == subscription
            for tick in effect.message.frame.ticks
        ]

    def save(self, failure: str = "") -> None:
        """The disk does what was ordered, and what is ordered at once because of that."""
        self.deadline(self.now)
        for order in self.ordered(PersistState):
            failed = PersistFailed(order.token, failure) if failure else None
            self.edge.resolved(order.token, failed, self.now, self.out)
        self.edge.check_invariants()

    def claims_saved(self) -> None:
        """The source saves what was claimed, and confirms it where it was asked to."""
        for claim in self.said(Acknowledgement):
            if claim.confirm:
                answer = ClaimsSaved(claim.root, claim.edge, claim.epoch, claim.number)
                self.edge.claims_saved(answer, self.now, self.out)

    def deadline(self, now: int) -> None:
        self.now = now
        self.edge.deadline(now, self.out)
        self.edge.check_invariants()


# -- making a subscription ------------------------------------------------------------------


def test_a_subscription_is_announced_when_the_source_has_confirmed_it() -> None:
    bench = Bench()
    bench.subscribe("s", "even = TRUE")
    assert bench.said(Subscribed) == []
    assert bench.said(SubscriptionUpdate) == [SubscriptionUpdate("pb", 1, True, ("even = TRUE",))]
    bench.version = 1
    bench.confirm(START)

    assert bench.said(Subscribed) == [Subscribed("s", {"p": START})]


def test_a_subscription_is_not_announced_before_the_overlay_is_known() -> None:
    bench = Bench()
    bench.edge = Edge("sb", GuaranteedParameters(), Tokens(), {}, 0)
    bench.subscribe("s")
    assert bench.said(Subscribed) == []

    bench.edge.overlay_settled(0, bench.out)
    assert bench.said(Subscribed) == [Subscribed("s", {})]


def test_a_second_subscriber_with_the_same_selector_needs_nobody() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.said(Subscribed)
    bench.subscribe("t", session="d")

    assert bench.said(SubscriptionUpdate) == []
    assert bench.said(Subscribed) == [Subscribed("t", {"p": START})]


def test_a_source_that_turns_up_later_is_registered_with() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.edge.trees_changed({"pb": TREE, "pb2": Tree("pb2", "ib", (), 1, ("q",))}, bench.out)

    assert bench.said(SubscriptionUpdate) == [SubscriptionUpdate("pb2", 1, True, ("TRUE",))]


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    bench = Bench(subscriptions_per_session=1)
    bench.subscribe("bad", "n >")
    bench.subscribe("s")
    bench.subscribe("s")
    bench.subscribe("t")

    reasons = [refusal.reason for refusal in bench.said(SubscribeRefused)]
    assert reasons[0].startswith("selector: ")
    assert "already has a subscription named 's'" in reasons[1]
    assert "already has 1 subscriptions" in reasons[2]


@pytest.mark.parametrize("patterns", [("a",) * 101, ("a" * 257,)])
def test_patterns_of_pubends_are_bounded(patterns: tuple[str, ...]) -> None:
    bench = Bench()
    bench.subscribe("s", pubends=patterns)

    (refusal,) = bench.said(SubscribeRefused)
    assert "at most 100 patterns of at most 256 characters" in refusal.reason


# -- live -----------------------------------------------------------------------------------


def test_each_subscriber_gets_the_rows_that_match_in_order() -> None:
    bench = Bench()
    bench.subscribe("all")
    bench.subscribe("even", "even = TRUE")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001, 1002))
    bench.hear(frame(START + 10, START + 20, 1013, 1014))

    assert bench.rows("all") == [1001, 1002, 1013, 1014]
    assert bench.rows("even") == [1002, 1014]


def test_a_gap_is_asked_for_and_nothing_behind_it_is_delivered_before() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START + 10, START + 20, 1015))
    assert bench.rows("s") == []
    assert bench.said(Nack) == [Nack("p", ((START, START + 10),), LIVE_FILTER)]

    bench.hear(frame(START, START + 10, 1005), LIVE_FILTER)
    assert bench.rows("s") == [1005, 1015]


def test_a_request_without_answer_is_repeated() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START + 10, START + 20))
    (nack,) = bench.said(Nack)
    bench.deadline(SECOND)

    assert bench.said(Nack) == [nack]


def test_when_the_way_up_changes_what_is_missing_is_asked_for_at_once() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START + 10, START + 20))
    (nack,) = bench.said(Nack)
    bench.edge.path_changed("pb", 1, bench.out)

    assert bench.said(Nack) == [nack]


def test_ticks_that_are_lost_are_told_to_everybody_who_is_live() -> None:
    bench = Bench()
    bench.subscribe("s", "even = TRUE")
    bench.confirm()
    bench.hear(Frame(START, START + 10, final=True), LIVE_FILTER)

    (delivery,) = bench.said(Delivery)
    assert delivery.frame == Frame(START, START + 10, final=True)


# -- the past -------------------------------------------------------------------------------


def test_a_subscriber_that_starts_in_the_past_catches_up_and_joins_live() -> None:
    bench = Bench()
    bench.subscribe("s", "even = TRUE", start="earliest")
    bench.confirm(START, earliest=900)
    assert bench.said(Nack) == [Nack("p", ((900, START),), "even = TRUE", ANSWER_BYTES)]

    bench.hear(frame(START, START + 10, 1002, 1003))
    bench.hear(frame(900, START, 902, 950), "even = TRUE")
    bench.hear(frame(START + 10, START + 20, 1012))

    assert bench.rows("s") == [902, 950, 1002, 1012]
    (subscription,) = bench.edge.subscriptions()
    assert list(subscription.live) == ["p"]
    assert subscription.catching_up == {}


def test_catching_up_goes_on_where_an_answer_stopped() -> None:
    bench = Bench()
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    bench.now = 1
    bench.hear(frame(900, 940, 910), "TRUE", more=True)

    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", ANSWER_BYTES)]


def test_what_becomes_ready_at_once_is_handed_over_in_slices() -> None:
    bench = Bench(answer_frames=3)
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    live = list(range(START, START + 80, 10))
    for tick in live:
        bench.hear(frame(tick, tick + 10, tick))
    bench.now = 1
    bench.hear(frame(900, START, 950), "TRUE")
    assert bench.rows("s") == [950, *live[:2]]

    assert (bench.edge.next_deadline() or 0) <= bench.now
    bench.hear(frame(START + 80, START + 90, START + 85))
    assert bench.rows("s") == [950, *live[:2]], "what arrives meanwhile makes no slice larger"
    bench.deadline(1)
    assert bench.rows("s") == [950, *live[:5]]
    bench.deadline(1)
    bench.deadline(1)
    assert bench.rows("s") == [950, *live, START + 85]
    (subscription,) = bench.edge.subscriptions()
    assert list(subscription.live) == ["p"]


def test_a_reader_that_makes_room_gets_the_next_slice() -> None:
    bench = Bench(answer_frames=2)
    bench.subscribe("s", start="earliest", window_bytes=600)
    bench.confirm(START, earliest=900)
    bench.hear(frame(START, START + 10, START))
    bench.hear(frame(START + 10, START + 20, START + 10))
    bench.hear(frame(900, START, *range(900, 960)), "TRUE")
    bench.deadline(1)
    assert START + 10 not in bench.rows("s")

    bench.now = 1
    bench.client("c", Taken("s", 1 << 20))
    assert bench.rows("s")[-2:] == [START, START + 10]


def test_what_was_answered_at_once_is_followed_by_a_request_in_the_next_turn() -> None:
    bench = Bench()
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    bench.hear(frame(900, 940, 910), "TRUE", more=True)
    assert bench.said(Nack) == []

    assert (bench.edge.next_deadline() or 0) <= bench.now
    bench.deadline(bench.now)
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", ANSWER_BYTES)]


def reader_of_the_past_without_room() -> Bench:
    """It was given more than its window, and there is more."""
    bench = Bench()
    bench.subscribe("s", start="earliest", window_bytes=1)
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    bench.hear(frame(900, 940, 910), "TRUE", more=True)
    return bench


def test_a_subscriber_that_does_not_read_does_not_fetch_more_of_the_past() -> None:
    bench = reader_of_the_past_without_room()
    assert bench.said(Nack) == []

    bench.now = 1
    bench.client("c", Taken("s", 1 << 20))
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", ANSWER_BYTES)]


def test_a_start_by_time_or_by_position() -> None:
    bench = Bench()
    bench.subscribe("time", start="time", start_time=950)
    bench.subscribe("position", "even = TRUE", positions={"p": 970})
    bench.confirm(START, earliest=900)

    asked = {(nack.filter, nack.intervals) for nack in bench.said(Nack)}
    assert asked == {("TRUE", ((950, START),)), ("even = TRUE", ((970, START),))}


def test_a_position_below_the_log_is_told_as_lost() -> None:
    bench = Bench()
    bench.subscribe("s", positions={"p": 100})
    bench.confirm(START, earliest=900)

    (delivery,) = bench.said(Delivery)
    assert delivery.frame == Frame(100, 900, final=True)


def test_a_live_subscriber_is_not_disturbed_by_one_that_catches_up() -> None:
    bench = Bench()
    bench.subscribe("live")
    bench.confirm()
    bench.subscribe("late", session="d", positions={"p": 900})
    bench.hear(frame(START, START + 10, 1001))
    bench.hear(frame(900, START, 950), "TRUE")
    bench.hear(frame(START, START + 10, 1001), "TRUE")

    assert bench.rows("live") == [1001]
    assert bench.rows("late") == [950, 1001]


def test_live_knowledge_from_before_its_selector_was_in_force_is_not_taken_for_the_past() -> None:
    """It was filtered for others: what they did not want would seem to be silence."""
    bench = Bench()
    bench.subscribe("even", "even = TRUE")
    bench.confirm(START)
    bench.subscribe("all", session="d", positions={"p": START})
    bench.confirm(START + 10)
    bench.hear(frame(START, START + 10, 1002))
    assert bench.rows("all") == []

    bench.hear(frame(START, START + 10, 1002, 1003), "TRUE")
    assert bench.rows("all") == [1002, 1003]
    assert bench.rows("even") == [1002]


# -- readers --------------------------------------------------------------------------------


class SlowReader:
    """A reader of everything with a window of one frame, and the log that the broker asks."""

    def __init__(self, **parameters: Any) -> None:
        self.bench = Bench(**parameters)
        self.bench.subscribe("slow", window_bytes=1)
        self.bench.subscribe("quick", session="d")
        self.bench.confirm()
        self.log: list[Frame] = []
        self.subscription = self.bench.edge.subscriptions()[0]

    def publish(self, count: int) -> None:
        for _ in range(count):
            low = START + 10 * len(self.log)
            self.log.append(frame(low, low + 10, low))
            self.bench.hear(self.log[-1])

    def take(self) -> None:
        """The reader takes what it has, and the log answers what is asked for because of that."""
        bench = self.bench
        bench.now += 1
        bench.client("c", Taken("slow", 1 << 20))
        while nacks := bench.said(Nack):
            for nack in nacks:
                ((low, high),) = nack.intervals
                found = [part for part in self.log if part.low < high and part.high > low]
                assert nack.filter == "TRUE"
                # One frame at a time, as if each filled an answer.
                bench.hear(found[0].slice(low, high), "TRUE", more=len(found) > 1)
            bench.deadline(bench.now)

    @property
    def published(self) -> list[int]:
        return [part.low for part in self.log]


def test_a_subscriber_that_reads_too_slowly_goes_on_from_the_log_without_a_disconnection() -> None:
    slow = SlowReader(session_buffer_bytes=300)
    slow.bench.now = 7
    slow.publish(20)

    assert slow.bench.ordered(CloseSession) == []
    assert slow.bench.rows("quick") == slow.published
    assert list(slow.subscription.catching_up) == ["p"]
    assert (slow.subscription.slow_since, slow.subscription.times_slow) == (7, 1)
    assert slow.bench.said(Nack) == [], "nothing is read for it before it has room"

    while slow.subscription.catching_up:
        slow.take()
    slow.publish(1)
    slow.take()
    assert slow.bench.rows("slow") == slow.published
    assert (slow.subscription.slow_since, slow.subscription.times_slow) == (None, 1)
    assert list(slow.subscription.live) == ["p"]


def test_a_slow_subscriber_is_given_everything_once_while_others_publish_on() -> None:
    slow = SlowReader(session_buffer_bytes=300)
    for _ in range(50):
        slow.publish(3)
        slow.take()
    while slow.subscription.catching_up or slow.subscription.buffered_bytes:
        slow.take()

    assert slow.subscription.times_slow == 1, "who does not catch up does not go to and fro"
    assert slow.bench.rows("slow") == slow.published
    assert slow.bench.rows("quick") == slow.published


def test_a_slow_subscriber_is_not_live_again_before_what_waits_is_taken() -> None:
    slow = SlowReader(session_buffer_bytes=1000)
    while not slow.subscription.catching_up:
        slow.publish(1)
    waiting = slow.subscription.buffered_bytes
    assert waiting > 1000
    slow.take()
    assert 0 < slow.subscription.buffered_bytes < waiting
    assert list(slow.subscription.catching_up) == ["p"]

    while slow.subscription.buffered_bytes:
        slow.take()
    slow.take()
    assert list(slow.subscription.live) == ["p"]
    assert slow.bench.said(Nack) == [], "there was nothing that it did not have"


def test_for_a_subscriber_that_takes_nothing_nothing_is_read_and_nothing_more_held() -> None:
    slow = SlowReader(session_buffer_bytes=300)
    slow.publish(20)
    held = slow.subscription.buffered_bytes
    slow.publish(1000)
    slow.bench.edge.path_changed("pb", slow.bench.now, slow.bench.out)
    for second in range(1, 100):
        slow.bench.deadline(second * SECOND)

    assert slow.bench.said(Nack) == []
    assert slow.subscription.buffered_bytes == held <= 300 + frame(0, 10, 5).weight
    assert slow.subscription.catching_up["p"].weight == 0
    assert slow.bench.ordered(CloseSession) == []


def test_a_subscriber_of_the_past_that_stops_reading_is_not_asked_for_again() -> None:
    """Each repetition would bring an answer that waits in the broker's memory."""
    bench = reader_of_the_past_without_room()
    for second in range(1, 100):
        bench.deadline(second * SECOND)
    bench.edge.path_changed("pb", bench.now, bench.out)
    assert bench.said(Nack) == []

    bench.client("c", Taken("s", 1 << 20))
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", ANSWER_BYTES)]


def test_who_catches_up_holds_one_piece_of_the_live_stream_at_most() -> None:
    bench = Bench(session_buffer_bytes=300)
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    (subscription,) = bench.edge.subscriptions()
    for tick in range(START, START + 1000, 10):
        bench.hear(frame(tick, tick + 10, tick))
    assert 300 <= subscription.catching_up["p"].weight < 300 + 2 * frame(0, 10, 5).weight

    bench.now = 1
    bench.hear(frame(900, START, 950), "TRUE")
    rows = bench.rows("s")
    assert rows == [950, *range(START, rows[-1] + 1, 10)]
    (nack,) = bench.said(Nack)
    assert nack.intervals == ((rows[-1] + 10, START + 1000),)


def test_a_tick_that_is_lost_overflows_the_buffer_as_rows_do() -> None:
    bench = Bench(session_buffer_bytes=1)
    bench.subscribe("slow", window_bytes=1)
    bench.confirm()
    for low in range(START, START + 30, 10):
        bench.hear(Frame(low, low + 10, final=True), LIVE_FILTER)
    (subscription,) = bench.edge.subscriptions()
    assert list(subscription.catching_up) == ["p"]
    assert subscription.positions == {"p": START + 20}


def test_ending_a_subscription_gives_up_what_nobody_else_wants() -> None:
    bench = Bench()
    bench.subscribe("s", "even = TRUE")
    bench.subscribe("t", "even = TRUE", session="d")
    bench.said(SubscriptionUpdate)
    bench.client("c", Unsubscribe("s"))
    assert bench.said(SubscriptionUpdate) == []
    assert bench.said(Unsubscribed) == [Unsubscribed("s")]

    bench.edge.session_closed("d", 0, bench.out)
    assert bench.said(SubscriptionUpdate) == [
        SubscriptionUpdate("pb", 2, False, (), ("even = TRUE",))
    ]


def test_an_edge_acknowledges_how_far_its_live_stream_has_come() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001))
    bench.deadline(SECOND)

    (statement,) = bench.said(Acknowledgement)
    assert (statement.live, statement.durable) == ({"p": START + 10}, {})


# -- durable --------------------------------------------------------------------------------


HOLDER = "durable subscription 's'"


def claims(bench: Bench) -> list[dict[str, DurableClaim]]:
    return [statement.durable for statement in bench.said(Acknowledgement)]


def durable(**parameters: Any) -> Bench:
    bench = Bench(**parameters)
    bench.subscribe("s", durable=True)
    bench.confirm()
    return bench


def test_a_durable_subscription_is_announced_when_it_is_saved() -> None:
    bench = durable()
    assert bench.said(Subscribed) == []

    bench.save()
    assert bench.said(Subscribed) == []
    bench.claims_saved()
    assert bench.said(Subscribed) == [Subscribed("s", {"p": START})]


def test_where_a_durable_subscription_starts_is_saved_before_it_is_announced() -> None:
    bench = Bench()
    bench.subscribe("s", durable=True)
    bench.save()
    bench.confirm()
    assert bench.said(Subscribed) == []

    bench.edge.deadline(0, bench.out)
    (order,) = bench.ordered(PersistState)
    bench.edge.resolved(order.token, None, 0, bench.out)
    bench.claims_saved()
    assert bench.said(Subscribed) == [Subscribed("s", {"p": START})]
    restarted = Bench(saved=order.values)
    restarted.subscribe("s", durable=True)
    restarted.confirm(START + 500)
    assert restarted.said(Nack) == [Nack("p", ((START, START + 500),), "TRUE", ANSWER_BYTES)]


def test_a_durable_subscription_that_cannot_be_saved_is_refused() -> None:
    bench = durable()
    bench.save("the disk is full")

    (refusal,) = bench.said(SubscribeRefused)
    assert "the disk is full" in refusal.reason
    assert bench.edge.subscriptions() == []


def test_a_durable_subscription_is_taken_over_by_another_connection() -> None:
    bench = durable()
    bench.save()
    bench.subscribe("s", session="d", durable=True)

    (close,) = bench.ordered(CloseSession)
    assert close.session == "c"
    assert "taken over" in close.reason
    (subscription,) = bench.edge.subscriptions()
    assert subscription.session == "d"


def test_a_durable_subscription_resumes_at_what_was_consumed() -> None:
    bench = durable()
    bench.save()
    bench.claims_saved()
    bench.hear(frame(START, START + 10, 1001, 1005))
    bench.client("c", Consumed("s", {"p": 1002}))
    bench.edge.session_closed("c", 0, bench.out)
    bench.said(Subscribed)
    bench.subscribe("s", session="d", durable=True)
    bench.confirm(START + 10)

    assert bench.said(Subscribed) == [Subscribed("s", {"p": 1002})]
    assert bench.said(Nack)[-1] == Nack("p", ((1002, START + 10),), "TRUE", ANSWER_BYTES)


def test_the_claim_of_a_durable_subscription_follows_what_was_saved() -> None:
    bench = durable()
    bench.save()
    bench.claims_saved()
    bench.hear(frame(START, START + 10, 1001, 1005))
    bench.client("c", Consumed("s", {"p": 1002}))
    bench.deadline(SECOND // 2)
    bench.deadline(SECOND)
    assert claims(bench) == [{"p": DurableClaim(START, HOLDER)}]

    bench.save()
    bench.deadline(2 * SECOND)
    assert claims(bench) == [{"p": DurableClaim(1002, HOLDER)}]


def test_a_durable_subscription_claims_while_nobody_reads_it() -> None:
    bench = durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    bench.deadline(SECOND)

    assert claims(bench) == [{"p": DurableClaim(START, HOLDER)}]


def test_a_subscription_that_is_deleted_while_nobody_reads_it_is_released_at_once() -> None:
    bench = durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    bench.client("operator", Unsubscribe("s", forget=True))
    assert bench.said(Unsubscribed) == [], "it is not gone before that is on disk"

    bench.save()
    assert bench.said(Unsubscribed) == [Unsubscribed("s")]
    (release,) = bench.said(Acknowledgement)
    assert (release.durable, release.confirm) == ({}, True)


def test_where_a_subscriber_stood_that_lost_its_connection_is_claimed_for_a_while() -> None:
    bench = Bench(hold_expiry_ns=10 * SECOND)
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001))
    bench.edge.session_closed("c", SECOND, bench.out)
    bench.deadline(2 * SECOND)
    (statement,) = bench.said(Acknowledgement)
    assert (statement.live, statement.durable) == ({"p": START + 10}, {})

    bench.deadline(12 * SECOND)
    (release,) = bench.said(Acknowledgement)
    assert (release.live, release.confirm) == ({}, True)


def test_a_source_that_was_started_anew_owes_everything_up_to_its_end_although_it_is_silent() -> (
    None
):
    """Its disk may have failed, so that it publishes nothing more: nothing live tells its end."""
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001))
    bench.edge.trees_changed({"pb": Tree("pb", "ib", (), 2, ("p",))}, bench.out)
    bench.said(Nack)
    bench.confirm(START + 50)

    assert bench.said(Nack) == [Nack("p", ((START + 10, START + 50),), LIVE_FILTER)]


def test_a_confirmation_of_another_selector_asks_for_nothing_that_is_under_way() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.subscribe("t", "even = TRUE", session="d")
    bench.confirm(START + 50)

    assert bench.said(Nack) == []


def test_a_subscriber_that_says_goodbye_claims_nothing_afterwards() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    bench.client("c", Unsubscribe("s"))
    bench.deadline(SECOND)

    (release,) = bench.said(Acknowledgement)
    assert (release.live, release.durable) == ({}, {})


def test_a_release_is_repeated_until_the_source_has_heard_it() -> None:
    bench = durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    bench.client("operator", Unsubscribe("s", forget=True))
    bench.save()
    bench.said(Acknowledgement)
    bench.deadline(SECOND)
    bench.claims_saved()
    bench.deadline(2 * SECOND)

    assert bench.said(Acknowledgement) == []


def test_a_subscription_that_could_not_be_deleted_is_told_so() -> None:
    bench = durable()
    bench.save()
    bench.client("c", Unsubscribe("s", forget=True))
    bench.save("the disk is full")

    (answer,) = bench.said(Unsubscribed)
    assert answer.problem == "it could not be deleted: the disk is full"


def test_a_pubend_that_appears_while_a_durable_subscription_is_away_owes_it_everything() -> None:
    bench = durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    grown = Tree("pb", "ib", (), 2, ("p", "q"))
    bench.edge.trees_changed({"pb": grown}, bench.out)
    bench.deadline(SECOND)
    (statement,) = bench.said(Acknowledgement)
    assert statement.durable["q"] == DurableClaim(0, HOLDER)

    bench.subscribe("s", session="d", durable=True)
    (update,) = bench.said(SubscriptionUpdate)[-1:]
    ticks = {"p": START, "q": 5 * SECOND}
    word = SubscriptionConfirmed("pb", update.version, ticks, {"q": 400}, {"q": 400})
    bench.relay(word)
    (asked,) = [nack for nack in bench.said(Nack) if nack.pubend == "q"]
    assert asked.intervals[0][0] == 400


def test_what_a_new_pubend_has_trimmed_already_is_told_as_lost() -> None:
    bench = Bench()
    bench.subscribe("s", since=100)
    (update,) = bench.said(SubscriptionUpdate)
    word = SubscriptionConfirmed("pb", update.version, {"p": START}, {"p": 700}, {"p": 300})
    bench.relay(word)

    (loss,) = bench.said(Delivery)
    assert loss.frame == Frame(300, 700, final=True)


def test_a_subscription_is_announced_with_where_it_began_whatever_was_delivered_since() -> None:
    """Deliveries wait for the window, or overtake the announcement: neither may move it."""
    bench = Bench()
    bench.subscribe("s", start="earliest", window_bytes=1, durable=True)
    bench.confirm(START, earliest=900)
    bench.hear(frame(900, 950, 910), "TRUE", more=True)
    bench.hear(frame(950, START, 960), "TRUE")
    bench.save()
    bench.claims_saved()

    assert bench.said(Subscribed) == [Subscribed("s", {"p": 900})]


def test_a_cursor_that_is_deleted_before_its_claim_is_saved_leaves_nobody_waiting() -> None:
    bench = Bench()
    bench.client("job", MoveCursor("c", {"p": 5}))
    (order,) = bench.ordered(PersistState)
    bench.edge.cursor_resolved(order.token, None, 0, bench.out)
    assert bench.said(CursorMoved) == [], "the source has not saved the claim"
    bench.client("job", MoveCursor("c", {}, forget=True))
    (order,) = bench.ordered(PersistState)
    bench.edge.cursor_resolved(order.token, None, 0, bench.out)

    assert bench.said(CursorMoved) == [CursorMoved("c", {"p": 5}), CursorMoved("c", {})]
    bench.claims_saved()
    assert bench.said(CursorMoved) == []


# -- congestion -----------------------------------------------------------------------------


def test_an_edge_that_lags_answers_a_query_with_an_alert_to_its_relay() -> None:
    bench = Bench()
    bench.subscribe("s")
    bench.confirm()
    position = START + 5 * SECOND
    bench.relay(DownstreamCongestionQuery("p", 1, 9, position))

    (alert,) = bench.said(UpstreamCongestionAlert)
    assert (alert.pubend, alert.sequence) == ("p", 9)
    bench.relay(DownstreamCongestionQuery("unknown", 1, 9, position))
    assert bench.said(UpstreamCongestionAlert) == []
    assert all(e.link == LOCAL_RELAY for e in bench.out if isinstance(e, Send) and e.link[0] == "@")
