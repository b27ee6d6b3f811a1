"""The best-effort queue of a link: a short first-in first-out queue.

1. The queue holds at most ``limit_messages``.  A message that arrives at a full queue is dropped
   without notice: with best effort the sender detects a loss by itself or not at all.
2. The bound counts messages and is small: a long queue delays all messages and loses as many as a
   short one once it is full.

Pure bookkeeping: the simulator queues messages with their modelled size, the network queues encoded
messages with their real size.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

LIMIT_MESSAGES: Final = 45
"""The value that reproduces the experiments of the content-aware paper
(docs/papers/content-aware.md): a tenth of a second of 280-byte messages at 1 Mbps."""


class DropTail(Generic[Item]):
    """The best-effort queue of one direction of a link."""

    __slots__ = ("_items", "_limit_messages", "dropped_messages", "high_water_messages")

    def __init__(self, limit_messages: int = LIMIT_MESSAGES) -> None:
        if limit_messages < 1:
            raise ValueError(f"a queue of {limit_messages} messages; it must hold at least 1")
        self._items: deque[tuple[Item, int]] = deque()
        self._limit_messages = limit_messages
        self.dropped_messages = 0
        self.high_water_messages = 0

    def __len__(self) -> int:
        return len(self._items)

    def offer(self, item: Item, size_bytes: int) -> bool:
        """Queue a message; False if it was dropped."""
        waiting = len(self._items)
        if waiting >= self._limit_messages:
            self.dropped_messages += 1
            return False
        self._items.append((item, size_bytes))
        self.high_water_messages = max(self.high_water_messages, waiting + 1)
        return True

    def next_size_bytes(self) -> int:
        """The size of the message that ``take`` would return; raises ``IndexError`` if empty."""
        return self._items[0][1]

    def take(self) -> tuple[Item, int]:
        """Remove the oldest message and return it with its size; raises ``IndexError`` if empty."""
        return self._items.popleft()

    def flush(self) -> int:
        """Discard all messages; returns their number."""
        count = len(self._items)
        self._items.clear()
        return count
