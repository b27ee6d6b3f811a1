"""Collects a broker's measurements and hands them to sinks in batches.

The machine's records and the links' counts are gathered during one turn of the event loop and
handed over together, so that sinks receive batches and no records accumulate here.
A link is named by both its ends, ``ib->sb``, as in the simulator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import LinkName
from penstock.core.trace import TraceRecord
from penstock.overlay.link_queue import LinkStatistics

TraceSink: TypeAlias = Callable[[list[TraceRecord]], None]


class LinkMeasure(msgspec.Struct, frozen=True):
    """The measurements of one link."""

    link: LinkName
    statistics: LinkStatistics
    bandwidth_bytes_per_s: int
    """The present limit; 0 means none."""
    most_queued_bytes: int
    """Since the last measurement."""


class Telemetry:
    """Gathers records and hands them to the sinks."""

    def __init__(self, node: str, *sinks: TraceSink) -> None:
        """Without a sink all records are discarded immediately."""
        self._node = node
        self._sinks = list(sinks)
        self._records: list[TraceRecord] = []
        self._loop = asyncio.get_running_loop()

    def add_sink(self, sink: TraceSink) -> None:
        """Hand all further records to this sink too."""
        self._sinks.append(sink)

    def add(self, record: TraceRecord) -> None:
        """Hand over a record at the end of this turn of the event loop."""
        if not self._sinks:
            return
        if not self._records:
            self._loop.call_soon(self.flush)
        self._records.append(record)

    def measure_links(self, links: Iterable[LinkMeasure], now: Instant) -> None:
        """Add records of each link's queue and traffic."""
        for measure in links:
            for record in link_records(self._node, measure, now):
                self.add(record)

    def flush(self) -> None:
        """Hand the gathered records to the sinks."""
        if self._records:
            records, self._records = self._records, []
            for sink in self._sinks:
                sink(records)


def link_records(node: str, measure: LinkMeasure, now: Instant) -> Iterator[TraceRecord]:
    """One record for each quantity of a link."""
    link, counts = f"{node}->{measure.link}", measure.statistics
    yield TraceRecord(now, node, link, "queue_bytes", counts.queued_bytes)
    yield TraceRecord(now, node, link, "most_queued_bytes", measure.most_queued_bytes)
    yield TraceRecord(now, node, link, "sent_bytes", counts.sent_bytes)
    yield TraceRecord(now, node, link, "sent_messages", counts.sent_messages)
    yield TraceRecord(now, node, link, "dropped_messages", counts.dropped_messages)
    yield TraceRecord(now, node, link, "bandwidth_bytes_per_s", measure.bandwidth_bytes_per_s)
