"""What the guaranteed service measures of itself at every trace interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.core.clock import Instant, in_seconds
from penstock.core.trace import TraceRecord
from penstock.guaranteed.edge import Edge
from penstock.guaranteed.pubend import Pubend


def service_records(
    node: str, pubends: Mapping[str, Pubend], edge: Edge, now: Instant
) -> Iterator[TraceRecord]:
    """One record for each quantity of each pubend, stream and subscription."""
    for name, pubend in pubends.items():
        yield TraceRecord(now, node, name, "published_messages", pubend.published_messages)
        yield TraceRecord(now, node, name, "log_bytes", pubend.log_bytes)
        yield TraceRecord(now, node, name, "publications_waiting", pubend.waiting)
    for pubend_name, horizon in edge.horizons().items():
        lag = in_seconds(max(0, now - horizon))
        yield TraceRecord(now, node, pubend_name, "doubt_horizon_lag_s", lag)
    for subscription in edge.subscriptions():
        delivered = float(subscription.delivered_messages)
        yield TraceRecord(now, node, subscription.name, "delivered_messages", delivered)
        buffered = float(subscription.buffered_bytes)
        yield TraceRecord(now, node, subscription.name, "buffered_bytes", buffered)
