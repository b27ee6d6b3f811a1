"""Bounds the bytes that are buffered between our queue and the wire.

Bytes in these buffers have no priority and are not visible as a queue.  On a fast path the bound
must be large, because otherwise the path is idle between two turns of the event loop; on a slow
path the same number of bytes takes seconds.

1. The room is the number of bytes that the peer takes in ``ROOM_S``, between a minimum and a
   maximum.
2. The rate is measured whenever the transport had to wait: bytes sent divided by the time taken.
   A transport that never waits needs no bound.
3. The kernel gets the same bound for unsent bytes; bytes in flight are left to TCP congestion
   control.

The room is a policy: it takes amounts and times and returns an amount.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Final

ROOM_S: Final = 0.05
"""Well above the milliseconds for which an event loop may be busy, and below a delay that a person
or a recovery would notice."""

SMALLEST_ROOM_BYTES: Final = 16 * 1024
"""About ten packets: less would not fill even the slowest path, and would cost many wake-ups."""

FIRST_ROOM_BYTES: Final = 64 * 1024
"""Used before the first measurement: no loss on a fast path, and one second on a slow path."""

SMOOTHING: Final = 0.5
"""The room moves half of the distance to the last measurement."""


class WriteRoom:
    """The number of bytes that may be handed to the transport at present."""

    __slots__ = ("_largest", "size_bytes")

    def __init__(self, largest_bytes: int) -> None:
        """Start with a moderate room until the first wait shows the rate of the path."""
        self._largest = largest_bytes
        self.size_bytes = min(FIRST_ROOM_BYTES, largest_bytes)

    def drained(self, count_bytes: int, elapsed_s: float) -> None:
        """Adjust the room after a wait: the bytes sent during the wait, and its duration."""
        wanted = float(self._largest)
        if elapsed_s > 0:
            wanted = min(wanted, count_bytes / elapsed_s * ROOM_S)
        moved = self.size_bytes + SMOOTHING * (wanted - self.size_bytes)
        smallest = min(SMALLEST_ROOM_BYTES, self._largest)
        self.size_bytes = max(smallest, min(self._largest, round(moved)))


def apply_room(transport: asyncio.WriteTransport, room_bytes: int, kernel_bytes: int) -> None:
    """Set the transport's limits for pausing, and bound the kernel's unsent bytes."""
    # Half, so that there is room whenever the transport is not paused.
    transport.set_write_buffer_limits(high=room_bytes // 2, low=room_bytes // 8)
    raw = transport.get_extra_info("socket")
    if raw is None:
        return
    unsent_bytes = min(room_bytes, kernel_bytes)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        # Bounds bytes that are not in flight yet; the TCP window may still grow with the path.
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, unsent_bytes)
    else:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, unsent_bytes)
