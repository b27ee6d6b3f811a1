"""What a broker measures of itself, published on a stream of its own.

1. The broker publishes to the pubend ``telemetry@BROKER`` that it hosts, through the same messages
   as a client: log, receipts, trimming and congestion control hold for it as for every stream.
2. One publication is under way at a time.  What is measured meanwhile goes with the next one, so
   that a busy disk or a limit makes fewer and larger publications, never a queue of them.
3. What gathers is bounded.  Records beyond the bound are dropped and counted, and the count is
   itself published (``telemetry_dropped``).
4. The stream never tells of telemetry streams, its own or another broker's: a broker that measures
   how it measures would have more to say the more it says.

A row is one record (docs/reference/telemetry.md): typed attributes, and the detail as payload.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import AttributeValue
from penstock.core.machine import Fact, Received
from penstock.core.message import Message
from penstock.core.trace import TraceRecord, is_own_stream, telemetry_stream
from penstock.services.guaranteed.links import OWN_SESSION
from penstock.services.guaranteed.messages import (
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishReceipt,
    PublishRefused,
)

logger = logging.getLogger(__name__)

TOPIC: Final = "telemetry"
"""The ``topic`` of every row, for whoever selects by content."""

MAX_GATHERED_RECORDS: Final = 65_536
"""A few megabytes: minutes of a large broker whose disk or network does not keep up."""

BATCH_RECORDS: Final = 4096
"""Rows of one publication: where larger batches stop gaining anything."""


class TelemetryStream:
    """Publishes a broker's records, one publication after another."""

    def __init__(self, broker: str, run: str, feed: Callable[[Iterable[Fact]], None]) -> None:
        """``feed`` hands facts to the broker's machine."""
        self.dropped = 0
        self._broker = broker
        self._run = run
        self._feed = feed
        self._gathered: list[TraceRecord] = []
        self._sequence: int | None = None
        self._under_way = 0

    def start(self) -> None:
        """Ask where the stream goes on; nothing is published before the answer."""
        pubend = telemetry_stream(self._broker)
        self._feed((Received(OWN_SESSION, OpenProducer(pubend, pubend)),))

    def add(self, records: Iterable[TraceRecord]) -> None:
        """Publish records, at once or with the next publication."""
        wanted = [record for record in records if not is_own_stream(record.subject)]
        room = MAX_GATHERED_RECORDS - len(self._gathered)
        self._gathered += wanted[:room]
        if len(wanted) > room:
            self.dropped += len(wanted) - room
        self._publish()

    def answered(self, message: Message) -> None:
        """The broker's machine answers its own client."""
        match message:
            case ProducerOpened(next_sequence=sequence):
                self._sequence = sequence
            case PublishReceipt(count=count):
                assert self._sequence is not None
                self._sequence += count
                self._under_way = 0
            case PublishRefused(count=count, reason=reason):
                logger.warning("%d telemetry records were not stored: %s", count, reason)
                self._under_way = 0
                self.dropped += count
        self._publish()

    def _publish(self) -> None:
        if self._sequence is None or self._under_way or not self._gathered:
            return
        records = self._gathered[:BATCH_RECORDS]
        del self._gathered[:BATCH_RECORDS]
        if self.dropped:
            last = records[-1]
            records.append(
                TraceRecord(last.at, self._broker, self._broker, "telemetry_dropped", self.dropped)
            )
        self._under_way = len(records)
        batch = Batch.from_rows([row_of(self._run, record) for record in records])
        publication = Publish(telemetry_stream(self._broker), self._sequence, batch)
        self._feed((Received(OWN_SESSION, publication),))


def row_of(run: str, record: TraceRecord) -> Row:
    """A record as a message."""
    attributes: dict[str, AttributeValue] = {
        "topic": TOPIC,
        "run": run,
        "at_ns": record.at,
        "node": record.node,
        "subject": record.subject,
        "metric": record.metric,
        "value": float(record.value),
    }
    return attributes, record.detail.encode()
