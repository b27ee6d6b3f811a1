"""Establishes connections to a broker.

``connect`` dials and performs the handshake; a server passes ``Connection`` itself to
``create_server`` as the protocol.  penstock.net.tcp.connection defines how a connection behaves.
"""

from __future__ import annotations

import asyncio

from penstock.core.message import Message
from penstock.net.loop_world import world_here
from penstock.net.tcp.connection import Connection, ConnectionHandler, ConnectionOptions
from penstock.overlay.messages import Hello

__all__ = ["Connection", "ConnectionHandler", "ConnectionOptions", "HandshakeFailed", "connect"]


class HandshakeFailed(ConnectionError):
    """The peer could be reached, but the handshake failed."""


async def connect(
    host: str,
    port: int,
    hello: Hello,
    handler: ConnectionHandler,
    *,
    options: ConnectionOptions | None = None,
    timeout_s: float = 10.0,
) -> Connection:
    """Connect and perform the handshake; ``on_open`` is called before this returns.

    Raises ``OSError`` if the address cannot be reached, ``HandshakeFailed`` if the peer refuses
    the connection, and ``TimeoutError``.
    """
    opening = _Opening(handler)
    loop = asyncio.get_running_loop()
    connection: Connection | None = None

    def make() -> Connection:
        return Connection(hello, opening, options)

    try:
        async with asyncio.timeout(timeout_s):
            world = world_here()
            if world is None:
                _, connection = await loop.create_connection(make, host, port)
            else:
                connection = await world.dial(make, host, port)
            await opening.opened
    except BaseException:
        if connection is not None:
            connection.abort("the attempt to connect was given up")
        raise
    return connection


class _Opening:
    """Passes all calls to the owner, and records when the handshake is done or has failed."""

    def __init__(self, handler: ConnectionHandler) -> None:
        self._handler = handler
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_open(self, connection: Connection) -> None:
        if not self.opened.done():
            self.opened.set_result(None)
        connection.handler = self._handler
        self._handler.on_open(connection)

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        raise AssertionError("messages are handed over only after the handshake")

    def on_writable(self, connection: Connection) -> None:
        """Do nothing: no output is queued before the handshake."""

    def on_closed(self, connection: Connection, reason: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(HandshakeFailed(f"{connection.peer_address}: {reason}"))
