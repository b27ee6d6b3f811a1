"""What a history tells: events by client, totals, and a judgement that follows every change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.lab.oracle.guaranteed.history import (
    GuaranteedHistory,
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.workloads.message_source import MessageSource, SourceSpec


@pytest.fixture
def history() -> GuaranteedHistory:
    """Four messages: two acknowledged at the ticks 10 and 11, one refused, one without outcome."""
    made = GuaranteedHistory()
    source = MessageSource(SourceSpec("p", "b.1", {}), 1)
    publisher = made.add_publisher(PublisherHistory("p", source))
    subscriber = made.add_subscriber(
        SubscriberHistory("s", "b", "", from_earliest=False, identified=True)
    )
    subscriber.in_force(1, {"b.1"})
    for at in range(5, 9):
        publisher.submitted(1, at)
    publisher.acknowledged(0, 2, 10, 20)
    publisher.failed(2, 1, Outcome.REFUSED, "full", 21)
    return made


def receive(history: GuaranteedHistory, number: int, now: int) -> None:
    tick = 10 + number
    batch = history.publishers["p"].source.batch(number, 1)
    frame = Frame(tick, tick + 1, range(tick, tick + 1), batch)
    history.subscribers["s"].received("b.1", frame, now)


def test_events_are_told_by_client_and_at_their_instants(history: GuaranteedHistory) -> None:
    receive(history, 0, 10 + SECOND)
    expected = {
        "submitted": ("p", [5, 6, 7, 8]),
        "acknowledged": ("p", [20, 20]),
        "refused": ("p", [21]),
        "uncertain": ("p", []),
        "unsettled": ("p", [8]),
        "delivered": ("s", [10 + SECOND]),
    }
    for metric, (client, instants) in expected.items():
        events = history.events(metric)
        assert list(events) == [client]
        assert events[client].at.tolist() == instants, metric
        assert events[client].values.tolist() == [1.0] * len(instants), metric
    at, delays_s = history.events("delay_s")["s"]
    assert at.tolist() == [10 + SECOND]
    np.testing.assert_allclose(delays_s, [1.0])


def test_totals_have_every_outcome(history: GuaranteedHistory) -> None:
    receive(history, 0, 30)
    assert list(history.totals()) == [
        ("p", "submitted", 4),
        ("p", "acknowledged", 2),
        ("p", "refused", 1),
        ("p", "uncertain", 0),
        ("s", "received", 1),
    ]
    assert history.publishers["p"].reasons == {"full": 1}


def test_it_is_complete_when_everything_due_was_received(history: GuaranteedHistory) -> None:
    assert history.pending == 1
    assert not history.complete()
    receive(history, 0, 30)
    receive(history, 1, 31)
    assert history.complete()
    assert history.delivered == 2


def test_a_history_that_does_not_change_is_judged_once(history: GuaranteedHistory) -> None:
    assert history.judge() is history.judge()


CHANGES: dict[str, Callable[[GuaranteedHistory], None]] = {
    "received": lambda history: receive(history, 0, 30),
    "loss notice": lambda history: history.subscribers["s"].received(
        "b.1", Frame(10, 12, final=True), 30
    ),
    "left": lambda history: setattr(history.subscribers["s"], "left_at", 2),
    "outcome": lambda history: history.publishers["p"].acknowledged(3, 1, 13, 40),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_happens_after_a_judgement_is_judged(
    history: GuaranteedHistory, change: Callable[[GuaranteedHistory], None]
) -> None:
    before = history.judge()["lost"]
    change(history)
    assert history.judge()["lost"] != before


def test_damage_after_a_judgement_excuses_a_loss_notice(history: GuaranteedHistory) -> None:
    history.subscribers["s"].durable = True
    history.subscribers["s"].received("b.1", Frame(10, 12, final=True), 30)
    assert history.judge()["let_go"] == 1
    history.damage("b.1", 10, 12)
    assert history.judge()["let_go"] == 0


def test_a_subscription_that_was_never_in_force_may_begin_again() -> None:
    subscriber = SubscriberHistory("s", "b", "", from_earliest=False, identified=True)
    subscriber.message("b.1", 10, {}, b"", 11)
    subscriber.received("b.1", Frame(11, 12, final=True), 12)
    subscriber.restart()
    assert len(subscriber) == 0
    assert not subscriber.announced_losses
    assert subscriber.delays().at.tolist() == []


def test_a_subscription_is_in_force_from_the_first_time() -> None:
    subscriber = SubscriberHistory("s", "b", "", from_earliest=False, identified=True)
    subscriber.in_force(5, ["b.1"])
    subscriber.in_force(9, ["b.1", "b.2"])
    assert (subscriber.in_force_at, subscriber.in_force_on) == (5, frozenset({"b.1"}))
