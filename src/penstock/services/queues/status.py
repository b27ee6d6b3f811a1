"""Queues and alias queues as documents (docs/reference/queues.md), and why messages wait."""

from __future__ import annotations

from typing import Any, Final

from penstock.core.clock import Instant, in_seconds
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.alias.destination import Destination
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.queue.senders import PRODUCER

PRODUCERS_SHOWN: Final = 20
"""The latest producers of an alias queue: a status is for people, and there may be thousands."""


def status_of(hosted: Queue | AliasQueue, now: Instant) -> dict[str, Any]:
    """The document of either kind."""
    return _queue(hosted, now) if isinstance(hosted, Queue) else _alias(hosted, now)


def _queue(queue: Queue, now: Instant) -> dict[str, Any]:
    rows = queue.rows
    return {
        "name": queue.name,
        "kind": "queue",
        "ready": rows.journal.ready,
        "messages": rows.entries.rows,
        "bytes": rows.entries.bytes,
        "waiting": rows.ready.count,
        "held": sum(consumer.held_count for consumer in rows.consumers),
        "in_doubt": rows.doubt.rows,
        "consumers": len(rows.consumers),
        "received_messages": queue.received.total,
        "received_msgs_per_s": round(queue.received.per_second(now), 1),
        "consumed_messages": queue.consumed.total,
        "consumed_msgs_per_s": round(queue.consumed.per_second(now), 1),
        "expired_messages": rows.expired_messages,
        "dead_messages": rows.dead_messages,
        "lost_messages": rows.lost_messages,
        "problem": _problem(rows.journal),
    }


def _alias(alias: AliasQueue, now: Instant) -> dict[str, Any]:
    forwarding = alias.forwarding
    destinations = [_destination(each, alias, now) for each in forwarding.destinations]
    return {
        "name": alias.name,
        "kind": "alias",
        "ready": alias.rows.journal.ready,
        "messages": alias.rows.entries.rows,
        "bytes": alias.rows.entries.bytes,
        "waiting": alias.rows.waiting.count,
        "received_messages": alias.received.total,
        "received_msgs_per_s": round(alias.received.per_second(now), 1),
        "forwarded_messages": forwarding.forwarded.total,
        "forwarded_msgs_per_s": round(forwarding.forwarded.per_second(now), 1),
        "producers": alias.rows.journal.origins.latest(PRODUCER, PRODUCERS_SHOWN),
        "passed_through_messages": alias.passage.passed_messages,
        "balancing": alias.config.balancing,
        "law": alias.config.law,
        "period_s": in_seconds(forwarding.balancer.period_ns),
        "why": alias.explain(now),
        "destinations": destinations,
        "problem": _problem(alias.rows.journal),
    }


def _problem(journal: Journal) -> str:
    """What is wrong with a queue's log; empty if nothing is."""
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


def _destination(each: Destination, alias: AliasQueue, now: Instant) -> dict[str, Any]:
    balancer = alias.forwarding.balancer
    return {
        "address": each.address,
        "reachable": each.reachable,
        "retired": each.retired,
        "consumers": each.consumers,
        "weight": round(balancer.weight(each.address), 4),
        "load": balancer.load(each.address),
        "consumed_msgs_per_s": balancer.consumption_msgs_per_s(each.address),
        "in_flight": each.in_flight.span,
        "unconfirmed": each.confirmed.span,
        "gets_nothing_because": each.why_not(now, alone=alias.forwarding.destinations.is_single),
    }
