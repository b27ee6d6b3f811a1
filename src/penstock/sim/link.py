"""One direction of a modelled link.

1. A link transmits one message at a time at its bandwidth.  Waiting messages are in two queues,
   control before data; a transmission is not interrupted.
2. The data queue holds a bounded number of bytes; a message that does not fit is dropped and
   counted.
3. After its transmission a message takes the latency, and a random jitter that never reorders
   messages.  Best-effort messages wait in a short drop-tail queue beside the data queue, and the
   link alternates between the two.
4. A lossy link loses data messages at random.  Control messages are not lost one by one: links are
   TCP connections, which lose messages only when they break.
5. When a link fails, everything that is queued or in flight is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

import msgspec

from penstock.core.clock import NEVER, SECOND, Duration, Instant
from penstock.core.machine import Priority
from penstock.overlay.drop_tail import DropTail
from penstock.overlay.link_queue import LinkQueue
from penstock.sim.link_model import LinkModel
from penstock.sim.scheduler import Scheduler

__all__ = ["LinkModel", "SimLink"]

DATA: Final = Priority.DATA
"""Looked up once: access to an enum member goes through its class, which costs on every message."""

LOST: Final[Instant] = NEVER
"""The arrival time of a lost message."""


class _CrossTraffic:
    """A packet of cross traffic, without a message."""

    __slots__ = ("arrived",)

    def __init__(self, arrived: Callable[[], None]) -> None:
        self.arrived = arrived


class SimLink:
    """One direction of a link."""

    __slots__ = (
        "_arrived",
        "_bandwidth",
        "_best_effort",
        "_best_effort_turn",
        "_busy_until",
        "_deliver",
        "_drained",
        "_draining",
        "_generation",
        "_last_arrival",
        "_latency_ns",
        "_may_stray",
        "_queue",
        "_random",
        "_scheduler",
        "_sent_before",
        "lost_messages",
        "model",
        "name",
        "sent_bytes",
        "sent_messages",
        "up",
    )

    def __init__(
        self,
        name: str,
        model: LinkModel,
        scheduler: Scheduler,
        random: Random,
        deliver: Callable[[Any], None],
    ) -> None:
        """``deliver`` is called at the far end when a message arrives."""
        self.name = name
        self.model = model
        self.sent_bytes = 0
        self.sent_messages = 0
        self.lost_messages = 0
        self._sent_before = 0
        self._scheduler = scheduler
        # Bound methods are created once: most of a simulation's work is links.
        self._arrived = self._arrive
        self._drained = self._drain
        self._random = random
        self._deliver = deliver
        self._latency_ns = model.latency_ns
        self._may_stray = model.loss > 0 or model.jitter_ns > 0
        self._bandwidth = model.bandwidth_bytes_per_s
        self._queue: LinkQueue[Any] = LinkQueue(data_limit_bytes=model.queue_bytes, fair=model.fair)
        self._best_effort: DropTail[Any] = DropTail(model.best_effort_queue_messages)
        self._best_effort_turn = False
        self._busy_until: Instant = 0
        self._draining = False
        self._last_arrival: Instant = 0
        self._generation = 0
        self.up = False

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait for transmission."""
        return self._queue.queued_bytes

    @property
    def flow_bytes(self) -> Mapping[str, int]:
        """The data that waits for transmission, by flow."""
        return self._queue.flow_bytes

    def took_bytes(self) -> bool:
        """Whether anything was transmitted since the last call."""
        before, self._sent_before = self._sent_before, self.sent_bytes
        return self.sent_bytes != before

    @property
    def buffered_bytes(self) -> int:
        """Bytes that wait above the window of the link's own protocol.

        While messages wait, those sent during the last round trip are unacknowledged too.
        """
        return self._above_window(self.queued_bytes)

    def _above_window(self, queued_bytes: int) -> int:
        if not self.model.window_bytes:
            return queued_bytes
        in_flight = self._bandwidth * 2 * self.model.latency_ns // SECOND
        return max(0, queued_bytes - max(0, self.model.window_bytes - in_flight))

    @property
    def queue_high_water(self) -> int:
        """The largest number of bytes that ever waited."""
        return self._queue.statistics().high_water_bytes

    @property
    def dropped_messages(self) -> int:
        """Messages that did not fit into the queue or were lost on the link."""
        queued = self._queue.statistics().dropped_messages + self._best_effort.dropped_messages
        return self.lost_messages + queued

    @property
    def bandwidth_bytes_per_s(self) -> int:
        """The current limit; 0 means unlimited."""
        return self._bandwidth

    def set_bandwidth(self, bytes_per_s: int) -> None:
        """Change the limit; the current transmission finishes at the old one."""
        self._bandwidth = bytes_per_s

    def set_path(
        self, latency_ns: Duration | None, jitter_ns: Duration | None, loss: float | None
    ) -> None:
        """Change the latency, jitter and loss of messages sent from now on; None keeps a value."""
        model = self.model
        self.model = msgspec.structs.replace(
            model,
            latency_ns=model.latency_ns if latency_ns is None else latency_ns,
            jitter_ns=model.jitter_ns if jitter_ns is None else jitter_ns,
            loss=model.loss if loss is None else loss,
        )
        # Messages under way arrive at the old latency, and no later one may overtake them.
        under_way = max(self._scheduler.now, self._busy_until) + self._latency_ns
        self._last_arrival = max(self._last_arrival, under_way)
        self._latency_ns = self.model.latency_ns
        self._may_stray = True

    def send(self, message: Any, size: int, priority: Priority, flow: str = "") -> None:
        """Queue a message, or transmit it immediately if the link is idle."""
        if not self.up:
            return
        now = self._scheduler.now
        if self._busy_until <= now and not self._draining:
            self._transmit(message, size, priority, now)
            return
        self._queue.offer(message, size, priority, flow)
        self._begin_to_drain()

    def send_best_effort(self, message: Any, size: int) -> None:
        """Send without a guarantee: a message that finds the short queue full is dropped."""
        if not self.up:
            return
        now = self._scheduler.now
        size = self.model.best_effort_bytes or size
        if self._busy_until <= now and not self._draining:
            self._transmit(message, size, DATA, now)
        elif self._best_effort.offer(message, size):
            self._begin_to_drain()

    def carry(self, size_bytes: int, arrived: Callable[[], None]) -> None:
        """Transmit a packet of cross traffic, which competes with best-effort messages."""
        if not self.up:
            return
        now = self._scheduler.now
        packet = _CrossTraffic(arrived)
        if self._busy_until <= now and not self._draining:
            self._transmit(packet, size_bytes, DATA, now)
        elif self._best_effort.offer(packet, size_bytes):
            self._begin_to_drain()

    def _begin_to_drain(self) -> None:
        if not self._draining:
            self._draining = True
            self._scheduler.at(self._busy_until, self._drained, self._generation)

    def _drain(self, generation: int) -> None:
        if generation != self._generation:
            return
        now = self._scheduler.now
        queue, best_effort = self._queue, self._best_effort
        while self._busy_until <= now:
            priority = queue.next_priority()
            if best_effort and (priority is None or (priority is DATA and self._best_effort_turn)):
                message, size = best_effort.take()
                priority = DATA
                self._best_effort_turn = False
            elif priority is not None:
                message, size = queue.take()
                self._best_effort_turn = priority is DATA or self._best_effort_turn
            else:
                self._draining = False
                return
            self._transmit(message, size, priority, now)
        self._draining = queue.queued_bytes > 0 or len(best_effort) > 0
        if self._draining:
            self._scheduler.at(self._busy_until, self._drained, generation)

    def _transmit(self, message: Any, size: int, priority: Priority, now: Instant) -> None:
        self.sent_bytes += size
        self.sent_messages += 1
        if self._bandwidth:
            now = self._busy_until = now + size * SECOND // self._bandwidth
        arrival = now + self._latency_ns
        if self._may_stray:
            arrival = self._strayed(arrival, priority)
            if arrival == LOST:
                return
        self._scheduler.pair_at(arrival, self._arrived, message, self._generation)

    def _strayed(self, arrival: Instant, priority: Priority) -> Instant:
        """The arrival of a message after jitter and random loss; ``LOST`` if it is lost."""
        model = self.model
        if model.loss and priority is DATA and self._random.random() < model.loss:
            self.lost_messages += 1
            return LOST
        if model.jitter_ns:
            arrival += int(self._random.random() * model.jitter_ns)
        arrival = self._last_arrival = max(arrival, self._last_arrival)
        return arrival

    def _arrive(self, message: Any, generation: int) -> None:
        if generation != self._generation:
            return
        if isinstance(message, _CrossTraffic):
            message.arrived()
        else:
            self._deliver(message)

    def statistics(self) -> tuple[tuple[str, float], ...]:
        """The telemetry of the link; the same quantities as in the network world.

        ``most_queued_bytes`` waited at once, above the window, since the last call.
        """
        return (
            ("queue_bytes", self.queued_bytes),
            ("most_queued_bytes", self._above_window(self._queue.take_most_queued_bytes())),
            ("sent_bytes", self.sent_bytes),
            ("sent_messages", self.sent_messages),
            ("dropped_messages", self.dropped_messages),
            ("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s),
        )

    def raise_up(self) -> None:
        """Bring the link up, with empty queues."""
        self.up = True

    def fail(self) -> None:
        """Take the link down; it loses everything that it holds."""
        self.up = False
        self._generation += 1
        self._queue.flush()
        self._best_effort.flush()
        self._draining = False
        self._busy_until = self._scheduler.now
