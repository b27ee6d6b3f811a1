"""The status documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.alias.destination_load import ASK_AGAIN_NS
from penstock.services.queues.messages import (
    ListQueues,
    LoadQuestion,
    Monitor,
    MonitorReport,
    Receive,
    SendToQueue,
    Settle,
    Stored,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.status import status_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "queues.md"


@pytest.fixture
def network(queue_network, make_batch):
    """Three messages in flight to a consumer, two waiting behind them."""
    work = (QueueConfig("work", dead_letter_queue=""),)
    orders = (AliasConfig("orders", ("work@east",), pass_through_ns=0),)
    made = queue_network({"home": ((), orders), "east": (work, ())})
    made.client("worker", "east", Receive("w", "work", credit=3))
    made.client("p", "home", SendToQueue("p", "orders", 0, make_batch(5)))
    return made


def test_a_queue_counts_its_messages_by_place(network):
    status = status_of(network.brokers["east"].queues["work"], network.now)
    counts = {key: status[key] for key in ("messages", "waiting", "held", "in_doubt", "consumers")}
    assert counts == {"messages": 5, "waiting": 2, "held": 3, "in_doubt": 0, "consumers": 1}
    assert (status["received_messages"], status["kind"], status["problem"]) == (5, "queue", "")


def test_an_alias_queue_shows_its_destinations_and_producers(network):
    status = status_of(network.brokers["home"].aliases["orders"], network.now)
    assert (status["messages"], status["forwarded_messages"]) == (0, 5)
    assert (status["producers"], status["law"], status["period_s"]) == (["p"], "improved", 1.0)
    (east,) = status["destinations"]
    assert (east["address"], east["reachable"], east["in_flight"]) == ("work@east", True, 0)
    assert (east["unconfirmed"], east["gets_nothing_because"]) == (5, "")


def told(network):
    (east,) = status_of(network.brokers["home"].aliases["orders"], network.now)["destinations"]
    return east["told"]


def test_a_status_question_brings_the_load_of_the_destinations(network):
    assert told(network) is None, "nobody has asked"
    network.client("ops", "home", ListQueues("orders"))
    assert told(network) == {
        "s_ago": 0.0,
        "messages": 5,
        "consumers": 1,
        "consumer_msgs_per_s": None,
    }
    network.now += 2 * SECOND
    network.client("worker", "east", Settle("w", 0, accepted=((1, 3),)))
    network.client("ops", "home", ListQueues())
    assert told(network) == {
        "s_ago": 0.0,
        "messages": 3,
        "consumers": 1,
        "consumer_msgs_per_s": 1.0,
    }


def test_many_questions_ask_destinations_seldom(network):
    for _ in range(10):
        network.client("ops", "home", ListQueues("orders"))
    assert len(network.said(LoadQuestion)) == 1
    network.now += ASK_AGAIN_NS
    network.client("ops", "home", ListQueues("orders"))
    assert len(network.said(LoadQuestion)) == 2


def test_a_status_question_leaves_the_control_loop_alone(network):
    spoken = len(network.said(Monitor)), len(network.said(MonitorReport))
    network.client("ops", "home", ListQueues("orders"))
    assert (len(network.said(Monitor)), len(network.said(MonitorReport))) == spoken
    balancer = network.brokers["home"].aliases["orders"].balancer
    assert balancer.load("work@east") == 0, "as the first report said"


def test_what_a_lost_destination_said_is_forgotten(network):
    network.client("ops", "home", ListQueues("orders"))
    network.set_reachable("home", "east", reachable=False)
    assert told(network) is None
    network.client("ops", "home", ListQueues("orders"))
    assert told(network) is None
    network.set_reachable("home", "east", reachable=True)
    network.client("ops", "home", ListQueues("orders"))
    assert told(network)["messages"] == 5


def test_rows_in_doubt_count_at_the_alias_queue_only(queue_network, make_batch):
    work = (QueueConfig("work", dead_letter_queue=""),)
    orders = (AliasConfig("orders", ("work@east",), pass_through_ns=0),)
    network = queue_network({"home": ((), orders), "east": (work, ())})
    network.lose = lambda source, target, message: isinstance(message, Stored)
    network.client("p", "home", SendToQueue("p", "orders", 0, make_batch(5)))
    network.client("ops", "home", ListQueues("orders"))
    assert network.brokers["east"].queues["work"].prepared.rows == 5
    assert network.brokers["home"].aliases["orders"].entries.rows == 5
    assert told(network)["messages"] == 0


def test_a_destination_that_does_not_exist_tells_nothing(queue_network):
    orders = (AliasConfig("orders", ("work@east",)),)
    network = queue_network({"home": ((), orders), "east": ((), ())})
    network.client("ops", "home", ListQueues("orders"))
    assert told(network) is None


def test_a_damaged_or_closed_journal_is_a_problem(network):
    queue = network.brokers["east"].queues["work"]
    queue.journal.lost.add(3, 5)
    queue.journal.closed_because = "sync failed"
    problem = status_of(queue, network.now)["problem"]
    assert "sync failed" in problem
    assert "[3, 5)" in problem


def test_every_key_of_a_destination_is_documented(network):
    text = DOCUMENT.read_text(encoding="utf-8")
    status = status_of(network.brokers["home"].aliases["orders"], network.now)
    for key in (*status["destinations"][0], "passed_through_messages", "why", "period_s"):
        assert f"`{key}`" in text or key in ("retired", "address"), key
