"""How much of what is sent may lie between our queue and the wire.

What lies there has no priority any more, and nobody sees it wait.  On a fast way it must be large,
or the way runs dry between two turns of the event loop; on a slow one the same amount is seconds.

1. The room is what the peer takes in ``ROOM_S``, between a smallest and a largest amount.
2. The rate is measured whenever the transport had to wait: so many bytes went in so much time.  A
   transport that never waits needs no bound.
3. The kernel is given the same bound for what it has not sent yet; what is in flight is the
   business of the connection's own congestion control.

The room is a policy: it takes amounts and times and returns an amount.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Final

ROOM_S: Final = 0.05
"""Well above the milliseconds for which a busy event loop may be away, and below what a person or
a recovery would notice."""

SMALLEST_ROOM_BYTES: Final = 16 * 1024
"""Some ten packets: less would not fill a way of the slowest kind, and cost many wake-ups."""

FIRST_ROOM_BYTES: Final = 64 * 1024
"""Before anything is known of the way: a fast one loses nothing by it, and a slow one a second."""

SMOOTHING: Final = 0.5
"""The room goes half the way to what the last measurement says."""


class WriteRoom:
    """The amount that may be handed over at present."""

    __slots__ = ("_largest", "size_bytes")

    def __init__(self, largest_bytes: int) -> None:
        """Moderate, until a wait shows how fast the way is."""
        self._largest = largest_bytes
        self.size_bytes = min(FIRST_ROOM_BYTES, largest_bytes)

    def drained(self, count_bytes: int, elapsed_s: float) -> None:
        """After a wait: what went out meanwhile, and how long that took."""
        wanted = float(self._largest)
        if elapsed_s > 0:
            wanted = min(wanted, count_bytes / elapsed_s * ROOM_S)
        moved = self.size_bytes + SMOOTHING * (wanted - self.size_bytes)
        smallest = min(SMALLEST_ROOM_BYTES, self._largest)
        self.size_bytes = max(smallest, min(self._largest, round(moved)))


def apply_room(transport: asyncio.WriteTransport, room_bytes: int, kernel_bytes: int) -> None:
    """Let the transport ask for a pause in time, and bound what the kernel has not sent yet."""
    # Half, so that there is room whenever the transport has not asked for a pause.
    transport.set_write_buffer_limits(high=room_bytes // 2, low=room_bytes // 8)
    raw = transport.get_extra_info("socket")
    if raw is None:
        return
    unsent_bytes = min(room_bytes, kernel_bytes)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        # Bounds what is not in flight yet; the window itself may grow with the path.
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, unsent_bytes)
    else:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, unsent_bytes)
