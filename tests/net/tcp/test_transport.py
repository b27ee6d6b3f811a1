from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.content.codec.stream import encode
from penstock.net.process import free_port
from penstock.net.tcp.transport import HandshakeFailed, connect
from penstock.overlay.messages import Goodbye, Hello

HELLO = Hello("client", "c", 1, "test")


async def serve_bytes(data: bytes) -> asyncio.Server:
    """Something that answers every connection with these bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await reader.read()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


async def test_nobody_listens(peer_class: Any) -> None:
    with pytest.raises(ConnectionRefusedError):
        await connect("127.0.0.1", free_port(), HELLO, peer_class())


async def test_a_refusal_says_why(peer_class: Any) -> None:
    server = await serve_bytes(b"".join(encode(Goodbye("come back tomorrow"))))
    port = server.sockets[0].getsockname()[1]

    with pytest.raises(HandshakeFailed, match=rf"127.0.0.1:{port}: come back tomorrow"):
        await connect("127.0.0.1", port, HELLO, peer_class())
    server.close()


async def test_something_else_answers(peer_class: Any) -> None:
    server = await serve_bytes(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n")
    port = server.sockets[0].getsockname()[1]

    with pytest.raises(HandshakeFailed, match="not a Penstock message"):
        await connect("127.0.0.1", port, HELLO, peer_class())
    server.close()


async def test_nobody_answers_in_time(peer_class: Any) -> None:
    server = await serve_bytes(b"")
    port = server.sockets[0].getsockname()[1]
    peer = peer_class()

    with pytest.raises(TimeoutError):
        await connect("127.0.0.1", port, HELLO, peer, timeout_s=0.02)
    assert not peer.opened
    server.close()
