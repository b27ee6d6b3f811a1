"""Counts, samples and the state of a run, from what producers and consumers of queues saw."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.lab.oracle.queues.history import METRICS, QueuesHistory
from penstock.lab.oracle.queues.records import ConsumerHistory, Outcome, ProducerHistory
from penstock.lab.workloads.message_source import MessageSource, SourceSpec
from penstock.services.queues.messages import Deliver

QUEUE = "work@b"


def batch(source: MessageSource, low: int, high: int) -> Batch:
    return Batch.from_rows([source.row(number) for number in range(low, high)])


@pytest.fixture
def history() -> QueuesHistory:
    """Ten messages at second 1: six confirmed at 2, one refused, three uncertain; four received at
    3 and three of them consumed at 5."""
    source = MessageSource(SourceSpec("p", "work", {}), 1)
    producer = ProducerHistory("p", frozenset((QUEUE,)), in_order=True)
    producer.source = source
    producer.submitted(batch(source, 0, 10), SECOND)
    producer.settled(0, 6, Outcome.CONFIRMED, 2 * SECOND)
    producer.settled(6, 1, Outcome.REFUSED, 2 * SECOND, "the disk is full")
    producer.settled(7, 3, Outcome.UNCERTAIN, 2 * SECOND, "gone")
    consumer = ConsumerHistory("c", QUEUE)
    delivery = Deliver("c", Frame(1, 5, range(1, 5), batch(source, 0, 4)))
    consumer.received(delivery, 3 * SECOND)
    consumer.consumed(0, 3, 5 * SECOND)
    late = ProducerHistory("late", frozenset((QUEUE,)), in_order=True)
    return QueuesHistory({"p": producer, "late": late}, {"c": consumer})


@pytest.mark.parametrize(
    ("metric", "count", "at_s"),
    [
        ("submitted", 10, 1),
        ("confirmed", 6, 2),
        ("refused", 1, 2),
        ("uncertain", 3, 2),
        ("delivered", 4, 3),
        ("consumed", 3, 5),
    ],
)
def test_counts(history: QueuesHistory, metric: str, count: int, at_s: int) -> None:
    client = "c" if metric in ("delivered", "consumed") else "p"
    events = history.events(metric)
    assert events[client].at.tolist() == [at_s * SECOND] * count
    assert events[client].values.tolist() == [1.0] * count
    assert (client, metric, count) in list(history.totals())


def test_delays_run_from_sending_to_consumption(history: QueuesHistory) -> None:
    (events,) = history.events("delay_s").values()
    assert events.values.tolist() == [4.0] * 3
    assert events.at.tolist() == [5 * SECOND] * 3


def test_a_client_that_has_not_started_has_no_events(history: QueuesHistory) -> None:
    assert len(history.events("submitted")["late"].at) == 0


def test_every_metric_but_rules_has_events(history: QueuesHistory) -> None:
    for name, metric in METRICS.items():
        if metric.kind != "rule":
            assert history.events(name)


def test_what_is_pending_and_missing(history: QueuesHistory) -> None:
    assert (history.delivered, history.pending) == (4, 1), "the consumer works on one"
    assert not history.complete()
    producer, consumer = history.producers["p"], history.consumers["c"]
    producer.submitted(batch(producer.source, 10, 12), 4 * SECOND)
    assert history.pending == 3
    producer.settled(10, 2, Outcome.REFUSED, 4 * SECOND)
    rest = Deliver("c", Frame(5, 7, range(5, 7), batch(producer.source, 4, 6)))
    consumer.received(rest, 6 * SECOND)
    consumer.consumed(3, 3, 7 * SECOND)
    assert history.complete()
    assert history.pending == 0


def test_a_consumer_that_closes_has_nothing_in_hand(history: QueuesHistory) -> None:
    history.consumers["c"].closed(6 * SECOND)
    assert history.pending == 0


def test_a_message_without_an_identity_has_no_delay(history: QueuesHistory) -> None:
    consumer = history.consumers["c"]
    strange = Deliver("c", Frame(9, 10, range(9, 10), Batch.from_rows([({}, b"?")])))
    consumer.consumed(consumer.received(strange, 6 * SECOND), 1, 6 * SECOND)
    assert len(history.events("delay_s")["c"].at) == 3
    assert len(history.events("consumed")["c"].at) == 4
