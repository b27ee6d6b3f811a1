"""What consumers ask of a queue."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import (
    Credit,
    Given,
    Receive,
    ReceivingStopped,
    Settle,
    StopReceiving,
)
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.queue.consumer_requests import ConsumerRequests
from penstock.services.queues.queue.consumers import Consumers
from penstock.services.queues.queue.dead_letters import DeadLetters
from penstock.services.queues.queue.rows import QueueRows

NOW = 1000 * SECOND


class Desk:
    """The requests of consumers over the rows [1, 7), all of them in flight to consumer c."""

    def __init__(self, make_journal, make_rows, **parameters):
        self.consumers, entries = Consumers(), Entries(1 << 20)
        self.settlements = Settlements(make_journal(), 5, 20)
        config = QueueConfig("work", dead_letter_queue="")
        self.letters = DeadLetters(config, entries, self.settlements, 5)
        self.rows = QueueRows(config, entries, self.consumers, self.settlements, self.letters)
        self.consumed = WindowRateMeter(NOW)
        self.requests = ConsumerRequests(
            "work",
            self.consumers,
            self.rows,
            self.settlements,
            self.consumed,
            QueueParameters(**parameters),
        )
        self.told = []
        assert self.requests.receive("s", Receive("c", "work", credit=10), self.told)
        self.rows.arrived(make_rows(1, 6))
        self.rows.ready.remove(4, 1, 7)
        self.consumers.get("s", "c").deliver(1, 7, 0)

    def say(self, message):
        return self.requests.handle("s", message, NOW, self.told)


@pytest.fixture
def desk(make_journal, make_rows):
    return Desk(make_journal, make_rows)


def test_a_settlement_is_divided_by_outcome(desk):
    assert desk.say(
        Settle(
            "c",
            9,
            accepted=((1, 3),),
            failed=((3, 4),),
            released=((4, 5),),
            rejected=((5, 6), (90, 92)),
        )
    )
    assert desk.consumed.total == 2
    assert desk.rows.attempts == {3: 1}
    assert desk.rows.ready.count == 2
    assert desk.letters.messages == 1
    out = []
    desk.settlements.flush(out)
    assert out[0].frame.settled == ((1, 3), (5, 6))
    replies = []
    desk.settlements.resolved(out[0].token, None, NOW, replies)
    assert (replies[0].message.number, replies[0].message.stale) == (9, 2)


def test_credit_and_given_rows(desk):
    consumer = desk.consumers.get("s", "c")
    assert desk.say(Credit("c", 5))
    assert consumer.credit == 9
    assert not desk.say(Credit("c", 0))
    assert not desk.say(Given("c", ((2, 4),)))
    assert list(consumer.given) == [(2, 4)]


def test_a_consumer_that_stops_returns_its_rows_uncounted(desk):
    assert desk.say(StopReceiving("c"))
    assert desk.rows.ready.count == 6
    assert desk.rows.attempts == {}
    assert desk.told[-1].message == ReceivingStopped("c")
    assert len(desk.consumers) == 0


def test_a_broken_connection_counts_what_the_application_had(desk):
    desk.say(Given("c", ((1, 3),)))
    assert desk.requests.session_closed("s", NOW)
    assert desk.rows.attempts == {1: 1, 2: 1, 3: 0, 4: 0, 5: 0, 6: 0}
    assert desk.rows.ready.count == 6
    assert not desk.requests.session_closed("s", NOW)


def test_a_consumer_that_is_gone_changes_nothing(desk):
    assert not desk.say(Credit("other", 5))
    assert not desk.say(Settle("other", 1, accepted=((1, 2),)))


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (Receive("c", "work"), "exists on this connection"),
        (Receive("d" * 600, "work"), "longer than 512"),
        (Receive("d", "work"), "the most allowed (consumers_per_session)"),
    ],
)
def test_a_consumer_is_refused(make_journal, make_rows, message, problem):
    desk = Desk(make_journal, make_rows, consumers_per_session=1)
    assert not desk.requests.receive("s", message, desk.told)
    assert problem in desk.told[-1].message.problem


def test_a_selector_that_cannot_be_parsed_is_refused(desk):
    assert not desk.requests.receive("s", Receive("d", "work", "n =="), desk.told)
    assert "selector" in desk.told[-1].message.problem


def test_a_queue_has_a_limited_number_of_consumers(make_journal, make_rows):
    desk = Desk(make_journal, make_rows, consumers_per_queue=1)
    assert not desk.requests.receive("t", Receive("d", "work"), desk.told)
    assert "has 1 consumers, the most allowed" in desk.told[-1].message.problem
