"""A buffered socket for clients that must be as fast as possible."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final, Self

RECEIVE_BYTES: Final = 1 << 18
"""At full speed a call returns what the kernel has; this is more than it usually has."""


class Wire:
    """One connection to a server on this machine."""

    def __init__(self, connected: socket.socket) -> None:
        """Made by ``open``."""
        self._socket = connected
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    @classmethod
    async def open(cls, port: int) -> Self:
        """Connect."""
        connected = socket.create_connection(("127.0.0.1", port))
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setblocking(False)
        return cls(connected)

    def close(self) -> None:
        """Disconnect."""
        self._socket.close()

    async def send(self, data: Any) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def some(self) -> bytes:
        """The next bytes."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        data = await self._loop.sock_recv(self._socket, RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

    async def until(self, end: bytes) -> bytes:
        """Everything up to and including these bytes."""
        data = b""
        while end not in data:
            data += await self.some()
        found, _, self._rest = data.partition(end)
        return found + end

    async def exactly(self, count: int) -> bytes:
        """Exactly ``count`` bytes."""
        pieces = [await self.some()]
        came = len(pieces[0])
        while came < count:
            pieces.append(await self.some())
            came += len(pieces[-1])
        # Joined once: an answer may be a megabyte in dozens of pieces.
        data = b"".join(pieces)
        self._rest = data[count:]
        return data[:count]
