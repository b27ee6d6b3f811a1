"""What waits to be sent on a link: two priorities, each with a bound.

1. Control goes before data, always; within a priority the order is that of arrival.
2. The data queue holds at most ``data_limit_bytes``.  A message that does not fit is dropped, the
   newest first, because the older ones are what the other end needs next; the guaranteed service
   notices the gap and asks again.  Into an empty queue a message of any size fits, or a large one
   could never pass.
3. The control queue has a bound too, far above any honest need.  Control messages are not asked
   for again, so a link that overflows it must be ended and set up anew by its owner.
4. When a link goes down everything that waited on it is gone.

Pure bookkeeping: the simulator queues messages with their modelled size, the network world encoded
messages with their real one.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

import msgspec

from penstock.core.machine import Priority

Item = TypeVar("Item")

DATA_LIMIT_BYTES: Final = 5_000_000
"""The output queues of the Gryphon experiments (Pietzuch and Bhola, Section 5)."""

CONTROL_LIMIT_BYTES: Final = 16 << 20
"""Three times the data: a hundred thousand control messages of the usual size."""


class LinkStatistics(msgspec.Struct, frozen=True):
    """What a queue has seen since it was made; ``high_water_bytes`` is the most that waited."""

    queued_bytes: int
    queued_messages: int
    high_water_bytes: int
    sent_bytes: int
    sent_messages: int
    dropped_messages: int
    dropped_bytes: int
    flushed_messages: int


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
        "_flushed_messages",
        "_high_water_bytes",
        "_sent_bytes",
        "_sent_messages",
    )

    def __init__(
        self,
        *,
        data_limit_bytes: int = DATA_LIMIT_BYTES,
        control_limit_bytes: int = CONTROL_LIMIT_BYTES,
    ) -> None:
        """Nothing waits."""
        self._data_limit_bytes = data_limit_bytes
        self._control_limit_bytes = control_limit_bytes
        self._control: deque[tuple[Item, int]] = deque()
        self._data: deque[tuple[Item, int]] = deque()
        self._control_bytes = 0
        self._data_bytes = 0
        self._high_water_bytes = 0
        self._sent_bytes = 0
        self._sent_messages = 0
        self._dropped_bytes = 0
        self._dropped_messages = 0
        self._flushed_messages = 0

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._control) + len(self._data)

    @property
    def queued_bytes(self) -> int:
        """How much waits."""
        return self._control_bytes + self._data_bytes

    def offer(self, item: Item, size_bytes: int, priority: Priority) -> bool:
        """Queue a message; False if it was dropped."""
        if priority is Priority.CONTROL:
            if self._control and self._control_bytes + size_bytes > self._control_limit_bytes:
                return self._drop(size_bytes)
            self._control.append((item, size_bytes))
            self._control_bytes += size_bytes
        else:
            if self._data and self._data_bytes + size_bytes > self._data_limit_bytes:
                return self._drop(size_bytes)
            self._data.append((item, size_bytes))
            self._data_bytes += size_bytes
        self._high_water_bytes = max(self._high_water_bytes, self.queued_bytes)
        return True

    def _drop(self, size_bytes: int) -> bool:
        self._dropped_messages += 1
        self._dropped_bytes += size_bytes
        return False

    def next_priority(self) -> Priority | None:
        """The priority of the message that ``take`` would give; None if nothing waits."""
        if self._control:
            return Priority.CONTROL
        return Priority.DATA if self._data else None

    def take(self) -> tuple[Item, int]:
        """The message to send next, with its size; raises ``IndexError`` if nothing waits."""
        if self._control:
            taken = self._control.popleft()
            self._control_bytes -= taken[1]
        else:
            taken = self._data.popleft()
            self._data_bytes -= taken[1]
        self._sent_messages += 1
        self._sent_bytes += taken[1]
        return taken

    def flush(self) -> int:
        """Throw away everything that waits; returns how many messages that were."""
        count = len(self)
        self._control.clear()
        self._data.clear()
        self._control_bytes = self._data_bytes = 0
        self._flushed_messages += count
        return count

    def statistics(self) -> LinkStatistics:
        """The counts as they stand."""
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
