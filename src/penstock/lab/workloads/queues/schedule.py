"""When a producer sends: batches at a rate that may follow a curve, or as fast as possible.

1. A batch is due when the last of its messages is due, and late by a random jitter.
2. A batch whose time has come while the producer could not send is sent as soon as it can; those
   after it stay due at their own times.
3. A batch belongs to the run if it is due, without its jitter, before the producer ends.
"""

from __future__ import annotations

import math
from random import Random

from penstock.core.clock import MILLISECOND, Instant, seconds
from penstock.lab.scenario.curve import is_zero, second_of_area
from penstock.lab.service import Stage
from penstock.lab.workloads.queues.tables import QueueProducer


class Schedule:
    """The batches of one producer, one after the other."""

    def __init__(self, client: QueueProducer, stage: Stage, random: Random) -> None:
        """``random`` is the producer's own stream."""
        self._client = client
        self._stage = stage
        self._random = random
        self._paced = not is_zero(client.rate_msgs_per_s)
        self._sent = 0
        # The second of the file: processes start a little later, and must not send less for it.
        self._due_s = client.start_s
        self.rows = 0
        """Messages of the next batch."""
        self.due_at: Instant | None = None
        """When the next batch is due; None if there is none."""
        self._plan()

    def advance(self) -> None:
        """The batch was sent; go to the next."""
        self._sent += self.rows
        self._plan()

    def is_due(self, now: Instant) -> bool:
        """Whether the next batch may be sent."""
        if self.due_at is None:
            return False
        return self.due_at <= now and (self._paced or now < self._stage.stop_at)

    @property
    def deadline(self) -> Instant | None:
        """When to look again; None if only an answer of the broker can change anything."""
        return self.due_at if self._paced else None

    def _plan(self) -> None:
        client, stage = self._client, self._stage
        self.rows, self.due_at = client.batch_rows, None
        if client.messages:
            self.rows = min(self.rows, client.messages - self._sent)
        if not self.rows:
            return
        if not self._paced:
            self.due_at = stage.now
            return
        self._due_s = second_of_area(client.rate_msgs_per_s, self._due_s, self.rows)
        if math.isfinite(self._due_s):
            due_at = stage.began_at + seconds(self._due_s)
            jitter_ns = round(client.jitter_ms * MILLISECOND)
            late_ns = self._random.randrange(jitter_ns) if jitter_ns else 0
            self.due_at = due_at + late_ns if due_at <= stage.stop_at else None
