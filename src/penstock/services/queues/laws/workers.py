"""How many workers a queue should have: a policy of its load, or of that of an alias queue.

1. A worker's rate is the best that was seen, fading by half in a minute: workers that have little
   to do settle less than they could, and a queue that has work shows what they can.
2. The workers together should settle what arrives, and the backlog within ``drain_s``, and be busy
   for ``BUSY`` of their time.  This gives the number that is needed now, between ``least`` and
   ``most``.  A queue with messages needs one worker at least; one that is empty, and to which less
   than a message comes in ``quiet_s``, needs none but ``least``.
3. More are needed: the number rises at once, at most twofold.  Then ``start_s`` pass before it
   rises again, because the new workers have not worked yet.
4. Fewer are needed: the number falls when fewer were needed during ``quiet_s``, to the highest
   number that was needed in this time.
5. Behind an alias queue the load is that of all its destinations, and the workers are those of one.
   What the consumers of the others can settle is subtracted from the work of rule 2.  They cannot
   take what this destination already has, though: the workers settle at least that in ``drain_s``.

A policy takes numbers and returns a number; ``penstock.client.queues.workers`` asks the broker and
starts and stops the workers.
"""

from __future__ import annotations

from collections import deque
from math import ceil, exp, log
from typing import Annotated, Final

import msgspec

from penstock.core.clock import SECOND, Instant, in_seconds

Workers = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]

BUSY: Final = 0.8
"""With a share of 0.8 arrivals at random wait for four times the work of one message on average,
with 0.95 for nineteen times."""

RATE_FADES_S: Final = 5.0
"""The memory of the rate of arrivals: that of a consumer's rate (``queue/work_rate``)."""

BEST_HALVES_S: Final = 60.0
"""A worker that became slower is believed after this time."""


class WorkerBounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user allows and wants."""

    least: Workers = 1
    most: Workers = 8
    drain_s: Seconds = 10.0
    """In what time a backlog should be worked off."""
    start_s: Seconds = 5.0
    """How long a new worker takes to begin."""
    quiet_s: Seconds = 30.0
    """How long fewer workers must have been enough before any is stopped."""


class QueueLoad(msgspec.Struct, frozen=True):
    """What the status of a queue, or of an alias queue and its destinations, says."""

    messages: int
    """Stored and not settled."""
    received: int
    """Since the broker's start."""
    worker_msgs_per_s: float | None
    """What a consumer settles in a second in which it has messages; None if not known."""
    others_msgs_per_s: float = 0.0
    """What the consumers of the other destinations of the alias queue can settle together."""
    own_messages: int = 0
    """Those of ``messages`` that only the workers can take."""


class WorkerPolicy:
    """Decides for one queue."""

    def __init__(self, bounds: WorkerBounds) -> None:
        """Raises ``ValueError`` if more are required than allowed."""
        if bounds.least > bounds.most or bounds.most < 1:
            raise ValueError(
                f"least={bounds.least}, most={bounds.most}: allow at least one worker, and no "
                "fewer than are required"
            )
        self._bounds = bounds
        self._count = bounds.least
        self._measured: tuple[int, Instant] | None = None
        self._arrivals_per_s = 0.0
        self._best_msgs_per_s = 0.0
        self._rose_at: Instant | None = None
        self._needed: deque[tuple[Instant, int]] = deque()
        """What was needed in the last ``quiet_s``: falling numbers, the highest first."""
        self._watched_since: Instant | None = None

    @property
    def count(self) -> int:
        """The present decision."""
        return self._count

    def decide(self, load: QueueLoad, now: Instant) -> int:
        """The number of workers from now on."""
        self._measure(load, now)
        needed = self._needed_now(load)
        if self._watched_since is None:
            self._watched_since = now
        while self._needed and self._needed[-1][1] <= needed:
            self._needed.pop()
        self._needed.append((now, needed))
        since = now - round(self._bounds.quiet_s * SECOND)
        while self._needed[0][0] < since:
            self._needed.popleft()
        if needed > self._count:
            self._rise(needed, now)
        elif self._watched_since <= since:
            self._count = min(self._count, self._needed[0][1])
        return self._count

    def _measure(self, load: QueueLoad, now: Instant) -> None:
        before, self._measured = self._measured, (load.received, now)
        # After a restart of the broker its counter begins anew.
        if before is None or load.received < before[0] or now <= before[1]:
            self._best(load, 0.0)
            return
        elapsed_s = in_seconds(now - before[1])
        kept = exp(-elapsed_s / RATE_FADES_S)
        arrived = (load.received - before[0]) / elapsed_s
        self._arrivals_per_s = kept * self._arrivals_per_s + (1 - kept) * arrived
        self._best(load, elapsed_s)

    def _best(self, load: QueueLoad, elapsed_s: float) -> None:
        faded = self._best_msgs_per_s * exp(-log(2) * elapsed_s / BEST_HALVES_S)
        self._best_msgs_per_s = max(faded, load.worker_msgs_per_s or 0.0)

    def _needed_now(self, load: QueueLoad) -> int:
        bounds = self._bounds
        least = max(bounds.least, 1 if load.messages else 0)
        quiet = not load.messages and self._arrivals_per_s * bounds.quiet_s < 1
        if quiet or self._best_msgs_per_s <= 0:
            return least
        all_per_s = self._arrivals_per_s / BUSY + load.messages / bounds.drain_s
        work_per_s = max(all_per_s - load.others_msgs_per_s, load.own_messages / bounds.drain_s)
        if work_per_s >= bounds.most * self._best_msgs_per_s:
            return bounds.most
        return max(ceil(work_per_s / self._best_msgs_per_s), least)

    def _rise(self, needed: int, now: Instant) -> None:
        if self._rose_at is not None and now - self._rose_at < self._bounds.start_s * SECOND:
            return
        self._rose_at = now
        self._count = min(needed, max(2 * self._count, 1))
