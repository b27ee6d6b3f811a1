"""Producers and consumers of work queues, as client machines for the simulator.

A producer sends at a rate, in runs of a few messages; a consumer processes one message after the
other at a rate of its own, and acknowledges a run when it has finished it.  Both survive the loss
of their connection: unconfirmed messages are sent again under the same numbers, and unacknowledged
ones are redelivered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.machine import (
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkUp,
    Priority,
    Received,
    Send,
)
from penstock.services.queues.messages import (
    Credit,
    Deliver,
    Receive,
    SendReceipt,
    SendRefused,
    SendToQueue,
    Settle,
)
from penstock.services.queues.queue.dispatch import runs_of

Rows = Callable[[int, int], Batch]
"""Builds the messages of a run from the number of the first and the count."""

RETRY_NS: Duration = SECOND // 2
"""A refused run is sent again after this time."""


class RatedProducer:
    """Sends ``total`` messages to a queue at a steady rate."""

    def __init__(
        self,
        name: str,
        queue: str,
        rows: Rows,
        random: Random,
        *,
        rate_msgs_per_s: float,
        run: int,
        total: int,
        start_at: Instant,
        jitter_ns: Duration,
    ) -> None:
        """A run of messages is sent when its last message is due, up to ``jitter_ns`` late."""
        self.name = name
        self.queue = queue
        self.confirmed = 0
        self.refusals: list[str] = []
        self._rows = rows
        self._random = random
        self._rate = rate_msgs_per_s
        self._run = run
        self._total = total
        self._start_at = start_at
        self._jitter_ns = jitter_ns
        self._next = 0
        self._connected = False
        self._unconfirmed: dict[int, SendToQueue] = {}
        self._again: deque[tuple[Instant, int]] = deque()
        self._due = self._due_of(0)

    def _due_of(self, first: int) -> Instant:
        done = min(first + self._run, self._total)
        jitter = self._random.randrange(self._jitter_ns) if self._jitter_ns else 0
        return self._start_at + round(done * SECOND / self._rate) + jitter

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return the resulting effects."""
        match fact:
            case LinkUp():
                self._connected = True
                self._again.clear()
                return [Send("broker", each) for each in self._unconfirmed.values()]
            case LinkDown():
                self._connected = False
            case Received(_, SendReceipt(first_sequence=first, count=count)):
                if self._unconfirmed.pop(first, None) is not None:
                    self.confirmed += count
            case Received(_, SendRefused(first_sequence=first, reason=reason)):
                self.refusals.append(reason)
                self._again.append((now + RETRY_NS, first))
            case DeadlineReached():
                return self._send_due(now)
        return []

    def _send_due(self, now: Instant) -> list[Effect]:
        out: list[Effect] = []
        while self._again and self._again[0][0] <= now:
            message = self._unconfirmed.get(self._again.popleft()[1])
            if message is not None:
                out.append(Send("broker", message))
        while self._next < self._total and self._due <= now:
            count = min(self._run, self._total - self._next)
            message = SendToQueue(self.name, self.queue, self._next, self._rows(self._next, count))
            self._unconfirmed[self._next] = message
            self._next += count
            self._due = self._due_of(self._next)
            out.append(Send("broker", message))
        return out if self._connected else []

    def next_deadline(self) -> Instant | None:
        """When the next run is due."""
        due = [self._due] if self._next < self._total else []
        due += [self._again[0][0]] if self._again else []
        return min(due) if due else None

    def check_invariants(self) -> None:
        """Nothing to check: the history would show an error."""


class RatedConsumer:
    """Works on messages one after the other, at a rate that may change with time."""

    def __init__(
        self,
        name: str,
        queue: str,
        rate_msgs_per_s: Callable[[Instant], float],
        *,
        prefetch: int,
        on_done: Callable[[Deliver], None] | None = None,
    ) -> None:
        """``on_done`` is called for each finished run of messages."""
        self.name = name
        self.queue = queue
        self.done = 0
        self.done_at: Instant = 0
        self._rate = rate_msgs_per_s
        self._prefetch = prefetch
        self._on_done = on_done
        self._work: deque[tuple[Deliver, int]] = deque()
        self._finish_at: Instant | None = None
        self._settlement = 0
        self._owed_credit = 0
        """Granted when it is half of the prefetch: smaller grants would fragment runs."""

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return the resulting effects."""
        match fact:
            case LinkUp():
                return [
                    Send("broker", Receive(self.name, self.queue, "", self._prefetch)),
                ]
            case LinkDown():
                self._work.clear()
                self._finish_at = None
                self._owed_credit = 0
            case Received(_, Deliver() as delivery):
                self._work.append((delivery, len(delivery.frame)))
                if self._finish_at is None:
                    self._begin(now)
            case DeadlineReached():
                return self._finish(now)
        return []

    def _begin(self, now: Instant) -> None:
        rows = self._work[0][1]
        self._finish_at = now + round(rows * SECOND / self._rate(now))

    def _finish(self, now: Instant) -> list[Effect]:
        out: list[Effect] = []
        while self._finish_at is not None and self._finish_at <= now:
            delivery, rows = self._work.popleft()
            self.done += rows
            self.done_at = finished = self._finish_at
            if self._on_done is not None:
                self._on_done(delivery)
            self._settlement += 1
            accepted = tuple(runs_of(delivery.frame))
            out.append(
                Send("broker", Settle(self.name, self._settlement, accepted), Priority.CONTROL)
            )
            self._owed_credit += rows
            if 2 * self._owed_credit >= self._prefetch:
                out.append(Send("broker", Credit(self.name, self._owed_credit), Priority.CONTROL))
                self._owed_credit = 0
            self._finish_at = None
            if self._work:
                self._begin(finished)
        return out

    def next_deadline(self) -> Instant | None:
        """When the current run is finished."""
        return self._finish_at

    def check_invariants(self) -> None:
        """Nothing to check: the history would show an error."""
