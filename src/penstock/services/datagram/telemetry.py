"""What the datagram service at a broker measures of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord

if TYPE_CHECKING:
    from penstock.services.datagram.broker import DatagramBroker


def broker_records(broker: DatagramBroker, now: Instant) -> Iterator[TraceRecord]:
    """One record for each quantity; none from a broker that the service has not used yet."""
    if not broker.client_count and not broker.forwarded_messages:
        return
    for metric, value in (
        ("clients", broker.client_count),
        ("forwarded_messages", broker.forwarded_messages),
        ("refused_messages", broker.refused_messages),
    ):
        yield TraceRecord(now, broker.name, "datagram", metric, float(value))
