"""A bound over the receive buffers of all connections together.

1. A large frame has a buffer of its own until it is complete.  Each buffer is bounded by the
   largest frame, but a peer that never completes its frame holds that memory indefinitely, and
   many such peers can hold all memory of the broker.
2. The incomplete large frames of all connections share a limit.  When it is exceeded, the
   connections with the oldest incomplete frames are closed with a reason until the rest fits.
3. The oldest frame is the slowest: an honest peer completes its frame quickly, so older frames that
   are still incomplete do not deserve their memory.

Small frames share a buffer of at most 512 KB for each connection and are not counted.
"""

from __future__ import annotations

from typing import Protocol


class ReceivingConnection(Protocol):
    """A connection with an incomplete frame."""

    def close(self, reason: str) -> None:
        """End the connection and send the reason to the peer."""


class ReceiveBudget:
    """The memory for incomplete large frames that all connections of a broker share."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._held: dict[ReceivingConnection, int] = {}
        """The buffer sizes of large frames, oldest frame first."""

    def changed(self, connection: ReceivingConnection, size_bytes: int) -> None:
        """Record the buffer size of a connection's incomplete frame; 0 if it has none."""
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
