"""The trace records of the queue service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.queue.queue import Queue


def service_records(
    node: str, queues: Mapping[str, Queue], aliases: Mapping[str, AliasQueue], now: Instant
) -> Iterator[TraceRecord]:
    """One record for each quantity of each queue and alias queue."""
    for name, queue in queues.items():
        yield TraceRecord(now, node, name, "queue_messages", queue.entries.rows)
        yield TraceRecord(now, node, name, "queue_waiting", queue.ready.count)
        yield TraceRecord(now, node, name, "queue_consumers", len(queue.consumers))
        yield TraceRecord(now, node, name, "queue_received_messages", queue.received.total)
        yield TraceRecord(now, node, name, "queue_consumed_messages", queue.consumed.total)
    for name, alias in aliases.items():
        waiting = alias.entries.rows
        yield TraceRecord(now, node, name, "alias_messages", waiting, alias.explain(now))
        yield TraceRecord(now, node, name, "alias_forwarded_messages", alias.forwarded.total)
        for address in alias.addresses:
            weight = alias.balancer.weight(address)
            yield TraceRecord(now, node, f"{name}>{address}", "alias_weight", weight)
