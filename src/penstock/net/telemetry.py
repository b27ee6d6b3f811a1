"""Measurements on their way out of a broker.

The machine's records and the links' counts are gathered during one turn of the event loop and
handed over together, so that whoever writes them gets them in batches and nothing piles up here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from penstock.core.clock import Instant
from penstock.core.machine import LinkName
from penstock.core.trace import TraceRecord
from penstock.overlay.link_queue import LinkStatistics

TraceSink: TypeAlias = Callable[[list[TraceRecord]], None]


class Telemetry:
    """Gathers records and hands them to a sink."""

    def __init__(self, node: str, sink: TraceSink | None) -> None:
        """Without a sink everything is forgotten at once."""
        self._node = node
        self._sink = sink
        self._records: list[TraceRecord] = []
        self._loop = asyncio.get_running_loop()

    def add(self, record: TraceRecord) -> None:
        """Hand over a record at the end of this turn."""
        if self._sink is None:
            return
        if not self._records:
            self._loop.call_soon(self.flush)
        self._records.append(record)

    def measure_links(self, links: Iterable[tuple[LinkName, LinkStatistics]], now: Instant) -> None:
        """Record what each link has queued and sent."""
        for name, statistics in links:
            for record in link_records(self._node, name, statistics, now):
                self.add(record)

    def flush(self) -> None:
        """Hand over what was gathered."""
        if self._records and self._sink is not None:
            records, self._records = self._records, []
            self._sink(records)


def link_records(
    node: str, link: LinkName, statistics: LinkStatistics, now: Instant
) -> Iterator[TraceRecord]:
    """One record for each quantity of a link."""
    yield TraceRecord(now, node, link, "queue_bytes", statistics.queued_bytes)
    yield TraceRecord(now, node, link, "sent_bytes", statistics.sent_bytes)
    yield TraceRecord(now, node, link, "sent_messages", statistics.sent_messages)
    yield TraceRecord(now, node, link, "dropped_messages", statistics.dropped_messages)
