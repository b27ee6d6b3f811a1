"""What the queue service measures of itself at every trace interval."""

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
        rows = queue.rows
        yield TraceRecord(now, node, name, "queue_messages", rows.entries.rows)
        yield TraceRecord(now, node, name, "queue_waiting", rows.ready.count)
        yield TraceRecord(now, node, name, "queue_consumers", len(rows.consumers))
        yield TraceRecord(now, node, name, "queue_received_messages", queue.received.total)
        yield TraceRecord(now, node, name, "queue_consumed_messages", queue.consumed.total)
    for name, alias in aliases.items():
        waiting = alias.rows.entries.rows
        yield TraceRecord(now, node, name, "alias_messages", waiting, alias.explain(now))
        yield TraceRecord(
            now, node, name, "alias_forwarded_messages", alias.forwarding.forwarded.total
        )
        for address in alias.destinations():
            weight = alias.forwarding.balancer.weight(address)
            yield TraceRecord(now, node, f"{name}>{address}", "alias_weight", weight)
