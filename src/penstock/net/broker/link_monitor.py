"""Measures the links at fixed intervals, for the machine and for the telemetry.

1. Twenty times a second the machine receives the number of bytes queued on each link, in total and
   by flow, while any link has a queue or has sent something, and once more when all are quiet.
   From this a broker knows which link holds its publishers back, and what a link should cost.
2. The telemetry receives the counts of every link at its own interval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from penstock.core.machine import LinkName, QueuesMeasured
from penstock.net.broker.link import Link
from penstock.net.broker.sessions import Feed
from penstock.net.broker.telemetry import LinkMeasure, Telemetry
from penstock.net.wall_clock import WallClock

MEASURE_QUEUES_EVERY_S: Final = 0.05
"""Equal to the interval at which links are priced (T_min of the multicast service)."""


class LinkMonitor:
    """Measures all links of a broker until it is stopped."""

    def __init__(
        self,
        links: Mapping[LinkName, Link],
        clock: WallClock,
        telemetry: Telemetry,
        telemetry_interval_s: float,
        feed: Feed,
    ) -> None:
        """A ``telemetry_interval_s`` of 0 turns off the counts for the telemetry."""
        self._links = links
        self._clock = clock
        self._telemetry = telemetry
        self._telemetry_interval_s = telemetry_interval_s
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._was_active = False
        self._sent_bytes = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def start(self) -> None:
        """Measure immediately and then at fixed intervals."""
        if not self._links:
            return
        self._tell_machine()
        if self._telemetry_interval_s:
            self._tell_telemetry()

    def stop(self) -> None:
        """Cancel all measurements."""
        for timer in self._timers.values():
            timer.cancel()

    def _tell_machine(self) -> None:
        self._timers["machine"] = self._loop.call_later(MEASURE_QUEUES_EVERY_S, self._tell_machine)
        waiting = {
            name: link.outbox.queued_bytes
            for name, link in self._links.items()
            if link.outbox.queued_bytes
        }
        flows = {
            name: dict(self._links[name].outbox.flow_bytes)
            for name in waiting
            if self._links[name].outbox.flow_bytes
        }
        sent_bytes = sum(link.outbox.sent_bytes for link in self._links.values())
        active = bool(waiting) or sent_bytes != self._sent_bytes
        self._sent_bytes = sent_bytes
        if active or self._was_active:
            self._was_active = active
            self._feed((QueuesMeasured(waiting, flows),))

    def _tell_telemetry(self) -> None:
        self._timers["telemetry"] = self._loop.call_later(
            self._telemetry_interval_s, self._tell_telemetry
        )
        measures = [
            LinkMeasure(
                name,
                link.outbox.statistics(),
                link.outbox.rate_bytes_per_s,
                link.outbox.take_most_queued_bytes(),
            )
            for name, link in self._links.items()
        ]
        self._telemetry.measure_links(measures, self._clock.now())
