"""A bound over the receive buffers of all connections together.

1. A frame that is large has a buffer of its own until it is whole.  Each is bounded by the largest
   frame; a peer that never finishes its frame holds that much for as long as it likes, and many of
   them hold the memory of the broker.
2. What the incomplete large frames of all connections take has a limit.  When it is exceeded, the
   frame that was begun first is ended, with its connection and a reason, until the rest fits.
3. The first is the slowest: an honest peer's frame is whole within a moment, and those that were
   begun before it and are not whole yet are not worth their memory.

Small frames share a buffer of at most 512 KB for each connection and are not counted.
"""

from __future__ import annotations

from typing import Protocol


class ReceivingConnection(Protocol):
    """A connection with an incomplete frame."""

    def close(self, reason: str) -> None:
        """End the connection, telling the peer why."""


class ReceiveBudget:
    """What all connections of a broker may hold of incomplete frames."""

    def __init__(self, limit_bytes: int) -> None:
        """No frame is incomplete."""
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._held: dict[ReceivingConnection, int] = {}
        """The buffers of large frames, in the order in which the frames were begun."""

    def changed(self, connection: ReceivingConnection, size_bytes: int) -> None:
        """The buffer of a connection's incomplete frame has this size now; 0 if it has none."""
        self.held_bytes += size_bytes - self._held.get(connection, 0)
        if not size_bytes:
            self._held.pop(connection, None)
            return
        self._held[connection] = size_bytes
        while self.held_bytes > self.limit_bytes:
            slowest = next(iter(self._held))
            self.held_bytes -= self._held.pop(slowest)
            slowest.close(
                f"incomplete frames of all connections take more than {self.limit_bytes} bytes "
                "(receive_buffers_bytes), and this connection's was begun first; send smaller "
                "batches"
            )
