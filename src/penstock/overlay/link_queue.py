"""The output queue of a link: two priorities, each with a bound.

1. Control messages always precede data; control keeps the order of arrival.  Data belongs to flows,
   which share the link by bytes, whatever the size of their messages (start-time fair queueing,
   Goyal et al. 1996), so a flow that floods the link delays itself and not the others.  The next
   message is that of the flow which was given the fewest bytes; a flow that had nothing to send
   gains nothing from it.  A flow that yields (``core/machine.YIELDING``) is charged for each byte
   eight times.  Order is kept within a flow.  A queue that is not fair treats all data as one flow.
2. The data queue holds at most ``data_limit_bytes``.  A new message that does not fit is dropped,
   because the receiver needs the older ones first; the guaranteed service detects the gap and
   requests the data again.  An empty queue accepts a message of any size, because a large one could
   never pass otherwise.
3. The control queue has a bound too, far above any honest need.  Control messages are not requested
   again, so the owner must end and re-establish a link whose control queue overflows.
4. When a link goes down, all its queued messages are lost.

Pure bookkeeping: the simulator queues messages with their modelled size, the network queues encoded
messages with their real size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

from penstock.core.machine import YIELDING, Priority
from penstock.overlay.link_statistics import LinkStatistics

__all__ = ["LinkQueue", "LinkStatistics"]

Item = TypeVar("Item")

CONTROL: Final = Priority.CONTROL
DATA: Final = Priority.DATA
"""Module constants, because the lookup of an enumeration member costs time for every message."""

DATA_LIMIT_BYTES: Final = 5_000_000
"""The size of the output queues in the Gryphon experiments (Pietzuch and Bhola, Section 5)."""

YIELDS: Final = 8
"""How many times a byte of a flow that yields counts: with as many readers of the past as pubends,
live data that takes eight ninths of a link is not delayed."""

REMEMBERED_FLOWS: Final = 64
"""Flows without messages that are remembered beside those with some, before the past ones go."""

CONTROL_LIMIT_BYTES: Final = 16 << 20
"""Three times the limit for data: a hundred thousand control messages of the usual size."""


class LinkQueue(Generic[Item]):
    """The two queues of one direction of a link."""

    __slots__ = (
        "_control",
        "_control_bytes",
        "_control_limit_bytes",
        "_data",
        "_data_bytes",
        "_data_limit_bytes",
        "_dropped_bytes",
        "_dropped_messages",
        "_fair",
        "_finished",
        "_flow_bytes",
        "_flushed_messages",
        "_high_water_bytes",
        "_recent_most_bytes",
        "_sent_bytes",
        "_sent_messages",
        "_serial",
        "_spare",
        "_turns",
        "_virtual_bytes",
    )

    def __init__(
        self,
        *,
        data_limit_bytes: int = DATA_LIMIT_BYTES,
        control_limit_bytes: int = CONTROL_LIMIT_BYTES,
        fair: bool = False,
    ) -> None:
        """With ``fair``, flows take turns."""
        self._fair = fair
        self._data_limit_bytes = data_limit_bytes
        self._control_limit_bytes = control_limit_bytes
        self._control: deque[tuple[Item, int]] = deque()
        self._data: dict[str, deque[tuple[Item, int]]] = {}
        self._flow_bytes: dict[str, int] = {}
        self._spare: deque[tuple[Item, int]] | None = None
        self._turns: list[tuple[int, int, str]] = []
        """A heap: each flow with messages, by the bytes at which its next one begins."""
        self._serial = 0
        self._finished: dict[str, int] = {}
        """Where the last message of each flow ended, as far as it matters."""
        self._virtual_bytes = 0
        """The bytes that a flow which always had messages was given so far."""
        self._control_bytes = 0
        self._data_bytes = 0
        self._high_water_bytes = 0
        self._recent_most_bytes = 0
        self._sent_bytes = 0
        self._sent_messages = 0
        self._dropped_bytes = 0
        self._dropped_messages = 0
        self._flushed_messages = 0

    def __len__(self) -> int:
        return len(self._control) + sum(map(len, self._data.values()))

    @property
    def queued_bytes(self) -> int:
        return self._control_bytes + self._data_bytes

    @property
    def sent_bytes(self) -> int:
        """Everything that was taken so far."""
        return self._sent_bytes

    @property
    def flow_bytes(self) -> Mapping[str, int]:
        """The data that waits, by flow; flows without messages are left out."""
        return self._flow_bytes

    def offer(self, item: Item, size_bytes: int, priority: Priority, flow: str = "") -> bool:
        """Queue a message; False if it was dropped."""
        if priority is CONTROL:
            if self._control and self._control_bytes + size_bytes > self._control_limit_bytes:
                return self._drop(size_bytes)
            self._control.append((item, size_bytes))
            self._control_bytes += size_bytes
        else:
            if self._data and self._data_bytes + size_bytes > self._data_limit_bytes:
                return self._drop(size_bytes)
            self._append(item, size_bytes, flow if self._fair else "")
        queued_bytes = self._control_bytes + self._data_bytes
        if queued_bytes > self._recent_most_bytes:
            self._recent_most_bytes = queued_bytes
            if queued_bytes > self._high_water_bytes:
                self._high_water_bytes = queued_bytes
        return True

    def _append(self, item: Item, size_bytes: int, flow: str) -> None:
        queue = self._data.get(flow)
        if queue is None:
            # A mostly idle link creates its only flow again for every queued message.
            queue = self._spare
            if queue is None:
                queue = deque()
            self._spare = None
            self._data[flow] = queue
            start = self._virtual_bytes
            if self._finished:
                start = max(start, self._finished.get(flow, 0))
            self._take_part(flow, start)
            self._flow_bytes[flow] = 0
        queue.append((item, size_bytes))
        self._data_bytes += size_bytes
        self._flow_bytes[flow] += size_bytes

    def _take_part(self, flow: str, start: int) -> None:
        self._serial += 1
        heappush(self._turns, (start, self._serial, flow))

    def _next_of_flows(self) -> tuple[Item, int]:
        """Take the first message of the flow whose turn it is; remove the flow if it is empty."""
        start, _, flow = heappop(self._turns)
        queue = self._data[flow]
        taken = queue.popleft()
        self._virtual_bytes = start
        end = start + (taken[1] * YIELDS if flow.endswith(YIELDING) else taken[1])
        if queue:
            self._flow_bytes[flow] -= taken[1]
            self._take_part(flow, end)
            return taken
        del self._data[flow], self._flow_bytes[flow]
        self._spare = queue
        if not self._turns:
            # Nothing waits: all flows begin anew.
            self._finished.clear()
            self._virtual_bytes = 0
        else:
            self._finished[flow] = end
            self._forget_past_flows()
        return taken

    def _forget_past_flows(self) -> None:
        """Bound what is remembered of flows without messages."""
        if len(self._finished) <= REMEMBERED_FLOWS + 2 * len(self._data):
            return
        at = self._virtual_bytes
        self._finished = {flow: end for flow, end in self._finished.items() if end > at}

    def _drop(self, size_bytes: int) -> bool:
        self._dropped_messages += 1
        self._dropped_bytes += size_bytes
        return False

    def next_priority(self) -> Priority | None:
        """The priority of the message that ``take`` would return; None if the queue is empty."""
        if self._control:
            return CONTROL
        return DATA if self._data else None

    def take(self) -> tuple[Item, int]:
        """Remove the next message and return it with its size; raises ``IndexError`` if empty."""
        if self._control:
            taken = self._control.popleft()
            self._control_bytes -= taken[1]
        else:
            taken = self._next_of_flows()
            self._data_bytes -= taken[1]
        self._sent_messages += 1
        self._sent_bytes += taken[1]
        return taken

    def flush(self) -> int:
        """Discard all queued messages; returns their number."""
        count = len(self)
        self._control.clear()
        self._data.clear()
        self._flow_bytes.clear()
        self._turns.clear()
        self._finished.clear()
        self._virtual_bytes = 0
        self._control_bytes = self._data_bytes = 0
        self._flushed_messages += count
        return count

    def take_most_queued_bytes(self) -> int:
        """The most bytes that waited at once since the last call, for the telemetry."""
        most_bytes = self._recent_most_bytes
        self._recent_most_bytes = self.queued_bytes
        return most_bytes

    def statistics(self) -> LinkStatistics:
        return LinkStatistics(
            queued_bytes=self.queued_bytes,
            queued_messages=len(self),
            high_water_bytes=self._high_water_bytes,
            sent_bytes=self._sent_bytes,
            sent_messages=self._sent_messages,
            dropped_messages=self._dropped_messages,
            dropped_bytes=self._dropped_bytes,
            flushed_messages=self._flushed_messages,
        )
