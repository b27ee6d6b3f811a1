"""Golden conversations: who said what, in files that a person can read.

``PENSTOCK_UPDATE_CONVERSATIONS=1`` writes the files anew; read the difference before you keep it.
Orders to a disk are lines like messages, so that the files show what is written before what is
said.  Monitoring is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.queues.messages import (
    Credit,
    Decision,
    Monitor,
    MonitorReport,
    Receive,
    Routed,
    SendToQueue,
    Settle,
    Stored,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig

CONVERSATIONS = Path(__file__).parent / "conversations"
BACKGROUND = (Monitor, MonitorReport)
START = 1000 * SECOND
"""When the brokers of the network start (conftest)."""
SILENT_WHEN_ZERO = ("expires_at", "time_to_live_ns", "instance", "producer_sequence", "stale")


def shown(value: Any) -> str:
    """A field of a message, for people."""
    match value:
        case Frame():
            rows = ", ".join(str(row["n"]) for row in value.batch.attribute_rows())
            return f"[{value.low}, {value.high})" + (f" rows {rows}" if rows else "")
        case Batch():
            return "rows " + ", ".join(str(row["n"]) for row in value.attribute_rows())
        case (int(low), int(high)):
            return f"[{low}, {high})"
        case tuple():
            return ", ".join(shown(each) for each in value)
    return str(value)


def fields(message: msgspec.Struct) -> str:
    """The fields of a message that say something; its two brokers stand before it."""
    said = []
    for field in msgspec.structs.fields(message):
        value = getattr(message, field.name)
        known = isinstance(message, Routed) and field.name in ("source", "destination")
        absent = value is False or value in ("", ()) or known
        if not absent and (value != 0 or field.name not in SILENT_WHEN_ZERO):
            said.append(f"{field.name} {shown(value)}")
    return "; ".join(said)


def conversation(network: Any) -> Iterable[str]:
    """The lines of what was said."""
    at = None
    for now, source, target, message in network.spoken:
        if isinstance(message, BACKGROUND):
            continue
        if now != at:
            at = now
            yield f"at {(now - START) // MILLISECOND} ms"
        yield f"  {source} -> {target}: {type(message).__name__}: {fields(message)}"


def compare(name: str, network: Any) -> None:
    """Check what was said against the file, or write the file."""
    text = "\n".join(conversation(network)) + "\n"
    path = CONVERSATIONS / f"{name}.txt"
    if os.environ.get("PENSTOCK_UPDATE_CONVERSATIONS") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"the conversation {name} has changed; if it is meant, write it anew with "
        "PENSTOCK_UPDATE_CONVERSATIONS=1"
    )


def network_of(queue_network: Any, *sites: str, here: bool = False, **alias: Any) -> Any:
    """An alias queue at home, and a queue with a consumer at every site; then all is quiet."""
    with_queue = (*sites, "home") if here else sites
    destinations = tuple(f"work@{site}" for site in with_queue)
    work = (QueueConfig("work", dead_letter_queue=""),)
    orders = AliasConfig("orders", destinations, **alias)
    made = queue_network(
        {
            "home": (work if here else (), (orders,)),
            **dict.fromkeys(sites, (work, ())),
        }
    )
    for site in with_queue:
        made.client(f"worker-{site}", site, Receive("w", "work", credit=10))
    made.spoken.clear()
    return made


def send(network: Any, make_batch: Any, first: int, count: int) -> None:
    """A producer's rows."""
    network.client("producer", "home", SendToQueue("p", "orders", first, make_batch(count, first)))


def test_a_message_is_forwarded_decided_dispatched_and_settled(queue_network, make_batch):
    brokers = network_of(queue_network, "east", pass_through_ns=0)
    send(brokers, make_batch, 0, 2)
    brokers.client("worker-east", "east", Settle("w", 1, accepted=((1, 3),)))
    brokers.client("worker-east", "east", Credit("w", 2))
    brokers.advance(SECOND)

    compare("a_message_is_forwarded_decided_dispatched_and_settled", brokers)


def test_a_lost_decision_is_given_again(queue_network, make_batch):
    brokers = network_of(queue_network, "east", pass_through_ns=0)
    brokers.lose = lambda source, target, message: isinstance(message, Decision)
    send(brokers, make_batch, 0, 1)
    brokers.lose = lambda source, target, message: False
    brokers.advance(1500 * MILLISECOND)

    compare("a_lost_decision_is_given_again", brokers)


def test_a_crash_before_the_note_is_durable_leaves_the_row_undecided(queue_network, make_batch):
    """The decision was not announced, so the row is forwarded again and decided then."""
    brokers = network_of(queue_network, "east", pass_through_ns=0)
    message = SendToQueue("p", "orders", 0, make_batch(1))
    brokers.client("producer", "home", message, settle=False)
    brokers.sync("home")
    brokers.deliver()
    brokers.sync("east")
    brokers.deliver()
    brokers.crash("home")
    brokers.settle()

    compare("a_crash_before_the_note_is_durable_leaves_the_row_undecided", brokers)


def test_rows_fail_over_to_another_destination_and_are_withdrawn_from_the_first(
    queue_network, make_batch
):
    """East stores a row and cannot say so; the row goes to west, and east has to drop it."""
    brokers = network_of(queue_network, "east", "west", pass_through_ns=0)
    brokers.lose = lambda source, target, message: isinstance(message, Stored) and source == "east"
    send(brokers, make_batch, 0, 1)
    brokers.set_reachable("home", "east", reachable=False)
    brokers.settle()
    brokers.lose = lambda source, target, message: False
    brokers.set_reachable("home", "east", reachable=True)
    brokers.settle()

    compare("rows_fail_over_to_another_destination", brokers)


def test_a_full_destination_refuses_and_the_rows_go_elsewhere(queue_network, make_batch):
    brokers = network_of(queue_network, "east", "west", pass_through_ns=0)
    brokers.stores["east"].full = True
    send(brokers, make_batch, 0, 1)

    compare("a_full_destination_refuses_and_the_rows_go_elsewhere", brokers)


def test_rows_for_a_near_destination_pass_through(queue_network, make_batch):
    """The first row measures the distance; the second is not written at home."""
    brokers = network_of(queue_network, "east", pass_through_ns=SECOND)
    send(brokers, make_batch, 0, 1)
    send(brokers, make_batch, 1, 1)

    compare("rows_for_a_near_destination_pass_through", brokers)


def test_rows_for_a_queue_of_the_same_broker_are_handed_over(queue_network, make_batch):
    """The first row comes before positions are reserved and is stored; the second is not."""
    brokers = network_of(queue_network, here=True)
    send(brokers, make_batch, 0, 1)
    send(brokers, make_batch, 1, 1)

    compare("rows_for_a_queue_of_the_same_broker_are_handed_over", brokers)
