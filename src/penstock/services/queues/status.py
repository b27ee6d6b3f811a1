"""The status documents of queues and alias queues (docs/reference/queues.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.core.clock import Instant, in_seconds
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.alias.destination_load import DestinationLoad
from penstock.services.queues.durable_queue import DurableQueue
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.queue.senders import PRODUCER

PRODUCERS_SHOWN: Final = 20
"""Producers of an alias queue in its status, the latest first: there may be thousands."""


def status_of(queue: DurableQueue, now: Instant) -> dict[str, Any]:
    """The document of a queue or an alias queue."""
    return _STATUS[type(queue)](queue, now)


def _queue(queue: Queue, now: Instant) -> dict[str, Any]:
    rows = queue.rows
    return {
        "name": queue.name,
        "kind": "queue",
        "ready": queue.journal.ready,
        "messages": queue.entries.rows,
        "bytes": queue.entries.bytes,
        "waiting": queue.ready.count,
        "held": queue.consumers.in_flight_rows,
        "in_doubt": queue.prepared.rows,
        "consumers": len(queue.consumers),
        "consumer_msgs_per_s": queue.consumers.mean_msgs_per_s,
        "received_messages": queue.received.total,
        "received_msgs_per_s": round(queue.received.per_second(now), 1),
        "consumed_messages": queue.consumed.total,
        "consumed_msgs_per_s": round(queue.consumed.per_second(now), 1),
        "expired_messages": rows.expired_messages,
        "dead_messages": queue.dead_letters.messages,
        "lost_messages": rows.lost_messages,
        "problem": _problem(queue.journal),
    }


def _alias(alias: AliasQueue, now: Instant) -> dict[str, Any]:
    destinations = [_destination(each, alias, now) for each in alias.destinations]
    origins = alias.journal.origins
    return {
        "name": alias.name,
        "kind": "alias",
        "ready": alias.journal.ready,
        "messages": alias.entries.rows,
        "bytes": alias.entries.bytes,
        "waiting": alias.waiting.count,
        "received_messages": alias.received.total,
        "received_msgs_per_s": round(alias.received.per_second(now), 1),
        "forwarded_messages": alias.forwarded.total,
        "forwarded_msgs_per_s": round(alias.forwarded.per_second(now), 1),
        "producers": origins.latest(PRODUCER, PRODUCERS_SHOWN),
        "passed_through_messages": alias.pass_through.passed_messages,
        "balancing": alias.config.balancing,
        "law": alias.config.law,
        "period_s": in_seconds(alias.balancer.period_ns),
        "why": alias.explain(now),
        "destinations": destinations,
        "problem": _problem(alias.journal),
    }


_STATUS: Final[dict[type, Callable[[Any, Instant], dict[str, Any]]]] = {
    Queue: _queue,
    AliasQueue: _alias,
}


def _problem(journal: Journal) -> str:
    """What is wrong with a journal; empty if nothing is."""
    said = []
    if journal.closed_because:
        said.append(
            f"it takes nothing more until the broker is started again: {journal.closed_because}"
        )
    if journal.lost:
        where = ", ".join(f"[{low}, {high})" for low, high in journal.lost)
        said.append(
            f"its log is damaged at the positions {where}: messages there are lost, and messages "
            "that were settled there are handed out again; see penstock log check"
        )
    return "; ".join(said)


def _destination(each: AliasDestination, alias: AliasQueue, now: Instant) -> dict[str, Any]:
    balancer, alone = alias.balancer, alias.destinations.is_single
    return {
        "address": each.address,
        "reachable": each.reachable,
        "retired": each.retired,
        "consumers": each.consumers,
        "weight": round(balancer.weight(each.address), 4),
        "load": balancer.load(each.address),
        "consumed_msgs_per_s": balancer.consumption_msgs_per_s(each.address),
        "in_flight": each.in_flight.span,
        "unconfirmed": each.decided.span,
        "gets_nothing_because": each.why_not(now, alone=alone),
        "told": _told(each.told, now),
    }


def _told(load: DestinationLoad, now: Instant) -> dict[str, Any] | None:
    """What the destination answered last, and how long ago; None without an answer."""
    answer = load.answer
    if answer is None:
        return None
    return {
        "s_ago": in_seconds(now - load.answered_at),
        "messages": answer.messages,
        "consumers": answer.consumers,
        "consumer_msgs_per_s": answer.consumer_msgs_per_s,
    }
