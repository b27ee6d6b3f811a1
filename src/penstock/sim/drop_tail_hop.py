"""One direction of a link with only a drop-tail queue: what cross traffic needs.

A packet waits for those ahead of it, takes its size over the bandwidth, then the latency and a
random jitter that never reorders packets.  A packet that finds ``queue_packets`` waiting is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random

import msgspec

from penstock.core.clock import SECOND, Duration, Instant
from penstock.overlay.drop_tail import LIMIT_MESSAGES
from penstock.sim.scheduler import Scheduler


class HopModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bandwidth_bytes_per_s: int = 0
    """0 means unlimited."""
    latency_ns: Duration = 1_000_000
    jitter_ns: Duration = 0
    queue_packets: int = LIMIT_MESSAGES


class DropTailHop:
    def __init__(self, model: HopModel, scheduler: Scheduler, random: Random) -> None:
        """``random`` is this hop's own stream."""
        self.model = model
        self.dropped_packets = 0
        self.carried_bytes = 0
        self._scheduler = scheduler
        self._random = random
        self._leaving: deque[Instant] = deque()
        self._free_at: Instant = 0
        self._last_arrival: Instant = 0

    def carry(self, size_bytes: int, arrived: Callable[[], None]) -> None:
        """Call ``arrived`` when the packet reaches the other end, unless the queue is full."""
        now = self._scheduler.now
        leaving = self._leaving
        while leaving and leaving[0] <= now:
            leaving.popleft()
        # One packet is being transmitted and is not in the queue.
        if len(leaving) > self.model.queue_packets:
            self.dropped_packets += 1
            return
        self.carried_bytes += size_bytes
        begins = max(now, self._free_at)
        bandwidth = self.model.bandwidth_bytes_per_s
        if bandwidth:
            self._free_at = begins + size_bytes * SECOND // bandwidth
            leaving.append(self._free_at)
            begins = self._free_at
        arrival = begins + self.model.latency_ns
        if self.model.jitter_ns:
            arrival += self._random.randrange(self.model.jitter_ns)
            arrival = self._last_arrival = max(arrival, self._last_arrival)
        self._scheduler.at(arrival, arrived)
