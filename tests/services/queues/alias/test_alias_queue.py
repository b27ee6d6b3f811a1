"""The machine of an alias queue, as far as its parts do not show it."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import InvariantBroken
from penstock.services.queues.alias.row_life import RowState
from penstock.services.queues.messages import (
    ChangeDestination,
    Forward,
    PurgeQueue,
    QueueAnswer,
    Receive,
    SendReceipt,
    SendToQueue,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig

WORK = (QueueConfig("work", dead_letter_queue=""),)
ORDERS = (AliasConfig("orders", ("work@east", "work@west"), pass_through_ns=0),)


@pytest.fixture
def network(queue_network):
    """Only east has a consumer."""
    made = queue_network({"home": ((), ORDERS), "east": (WORK, ()), "west": (WORK, ())})
    made.client("worker", "east", Receive("w", "work"))
    return made


def send(network, make_batch, count=3, first=0):
    network.client("p", "home", SendToQueue("p", "orders", first, make_batch(count, first)))


def alias(network):
    return network.brokers["home"].aliases["orders"]


def test_rows_go_only_where_there_are_consumers(network, make_batch):
    send(network, make_batch)
    assert {each.destination for each in network.said(Forward)} == {"east"}
    assert alias(network).forwarded.total == alias(network).received.total == 3
    assert alias(network).entries.rows == 0


def test_rows_wait_while_no_destination_can_be_reached_and_say_why(network, make_batch):
    for site in ("east", "west"):
        network.set_reachable("home", site, reachable=False)
    send(network, make_batch)
    assert network.said(SendReceipt) == [SendReceipt("p", "orders", 0, 3, 1)]
    assert alias(network).row_states()[RowState.WAITING] == [(1, 4)]
    assert "broker 'east' cannot be reached" in alias(network).explain(network.now)
    network.set_reachable("home", "east", reachable=True)
    network.settle()
    assert alias(network).entries.rows == 0


def test_purging_discards_what_waits(network, make_batch):
    for site in ("east", "west"):
        network.set_reachable("home", site, reachable=False)
    send(network, make_batch)
    network.client("op", "home", PurgeQueue("orders", request=1))
    (answer,) = network.said(QueueAnswer)
    assert msgspec.json.decode(answer.document) == {"purged": 3}
    assert alias(network).entries.rows == 0


def test_destinations_that_an_operator_changed_outlive_a_restart(network):
    network.client("op", "home", ChangeDestination("orders", "work@west", retire=True, request=1))
    network.client("op", "home", ChangeDestination("orders", "more@east", request=2))
    assert alias(network).addresses == ["work@east", "more@east"]
    network.crash("home")
    network.settle()
    assert alias(network).addresses == ["work@east", "more@east"]


def test_a_restart_forwards_what_had_no_decision(network, make_batch):
    network.set_reachable("home", "east", reachable=False)
    network.set_reachable("home", "west", reachable=False)
    send(network, make_batch)
    network.crash("home")
    network.settle()
    assert alias(network).row_states()[RowState.WAITING] == [(1, 4)]
    network.set_reachable("home", "east", reachable=True)
    network.settle()
    assert network.brokers["east"].queues["work"].ready.count == 3


def test_the_journal_is_trimmed_after_a_checkpoint(network, make_batch):
    send(network, make_batch)
    network.advance(5 * SECOND)
    assert network.stores["home"].bounds("alias/orders").first_low > 3
    send(network, make_batch)
    assert network.said(SendReceipt)[-1] == SendReceipt("p", "orders", 0, 3, 0), "a repeat"


def test_a_row_in_two_states_breaks_an_invariant(network, make_batch):
    for site in ("east", "west"):
        network.set_reachable("home", site, reachable=False)
    send(network, make_batch)
    (east, _) = alias(network).destinations
    east.decided.add(2, 3)
    with pytest.raises(InvariantBroken, match="are DECIDED and in another state"):
        alias(network).check_invariants()
    east.decided.remove(2, 3)
    alias(network).rows.undecided.remove(2, 3)
    with pytest.raises(InvariantBroken, match="undecided"):
        alias(network).check_invariants()
