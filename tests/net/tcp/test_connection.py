from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.content.codec.envelope import ENVELOPE
from penstock.content.codec.stream import Decoder, encode
from penstock.content.rows.batch import Batch
from penstock.core.message import Message
from penstock.net.tcp.connection import Connection, ConnectionOptions
from penstock.overlay.messages import Goodbye, Heartbeat, Hello, StatusRequest
from penstock.overlay.wire import connection_decoder
from penstock.services.guaranteed.messages import Publish, Taken

BROKER = Hello("broker", "b", 1, "test")
CLIENT = Hello("client", "c", 1, "test")
QUICK = ConnectionOptions(heartbeat_interval_s=0.01, linger_s=0.2)
PATIENCE_S = 60


class Listener:
    """A server whose every connection gets a peer of its own."""

    def __init__(self, peer_class: Any) -> None:
        self._peer_class = peer_class
        self.peers: list[Any] = []
        self._arrived = asyncio.Event()
        self.port = 0

    async def open(self, options: ConnectionOptions | None) -> asyncio.Server:
        def accept() -> Connection:
            peer = self._peer_class()
            self.peers.append(peer)
            peer.connection = Connection(BROKER, peer, options)
            self._arrived.set()
            return peer.connection

        server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def next(self) -> Any:
        """The peer of the latest connection."""
        async with asyncio.timeout(PATIENCE_S):
            await self._arrived.wait()
        self._arrived.clear()
        return self.peers[-1]


@pytest.fixture
async def listen(peer_class: Any) -> AsyncIterator[Any]:
    listeners: list[Listener] = []
    servers: list[asyncio.Server] = []

    async def listen(options: ConnectionOptions | None = None) -> Listener:
        listener = Listener(peer_class)
        listeners.append(listener)
        servers.append(await listener.open(options))
        return listener

    yield listen
    for server in servers:
        server.close()
    for listener in listeners:
        for peer in listener.peers:
            peer.connection.abort("the test is over")
            await peer.connection.wait_closed()


class RawSocket:
    """The other end as plain bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self._reader = reader
        self._decoder: Decoder[Message] = connection_decoder()

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.writer.write(b"".join(encode(message)))

    async def read(self) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            envelope = await self._reader.readexactly(ENVELOPE.size)
            body = await self._reader.readexactly(ENVELOPE.unpack(envelope)[4])
        return self._decoder.decode(envelope + body)

    async def read_until(self, kind: type[Message]) -> Any:
        while not isinstance(message := await self.read(), kind):
            pass
        return message

    async def at_end(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            return not await self._reader.read()

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def raw(port: int) -> RawSocket:
    return RawSocket(*await asyncio.open_connection("127.0.0.1", port))


# -- the handshake --------------------------------------------------------------------------


async def test_both_ends_introduce_themselves(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port, "c")
    server = await listener.next()
    await server.until(lambda: server.opened)

    assert client.connection.peer == BROKER
    assert server.connection.peer == Hello("client", "c", 1, "test")


async def test_the_first_message_must_be_hello(listen: Any) -> None:
    listener = await listen()
    stranger = await raw(listener.port)
    assert await stranger.read() == BROKER

    stranger.say(StatusRequest())

    farewell = await stranger.read()
    assert farewell == Goodbye("the first message must be Hello, not StatusRequest")
    assert await stranger.at_end()
    server = await listener.next()
    assert not server.opened
    await stranger.close()


async def test_a_stranger_who_says_nothing_is_let_go(listen: Any) -> None:
    listener = await listen(ConnectionOptions(handshake_timeout_s=0.02, linger_s=0.1))
    stranger = await raw(listener.port)

    farewell = await stranger.read_until(Goodbye)

    assert farewell.reason == "no Hello within 0.02 s"
    await stranger.close()


async def test_another_version_of_the_protocol_is_told_so(listen: Any) -> None:
    listener = await listen()
    stranger = await raw(listener.port)
    other = bytearray(b"".join(encode(CLIENT)))
    other[2] = 99

    stranger.write(bytes(other))

    farewell = await stranger.read_until(Goodbye)
    assert "protocol version 99; this program speaks" in farewell.reason
    await stranger.close()


async def test_a_stranger_may_not_send_large_frames(listen: Any) -> None:
    listener = await listen()
    stranger = await raw(listener.port)

    stranger.say(Hello("client", "x" * 100_000, 1, "test"))

    farewell = await stranger.read_until(Goodbye)
    assert "at most 65536 are accepted" in farewell.reason
    await stranger.close()


# -- malformed bytes ------------------------------------------------------------------------


def flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 0x40
    return bytes(changed)


BATCH = Batch.from_rows([({"a": n}, b"payload") for n in range(20)])
PUBLISH = b"".join(encode(Publish("p", 0, BATCH)))
UNKNOWN = PUBLISH.replace(b"Publish", b"Pablish")
MALFORMED = {
    "random": random.Random(7).randbytes(4096),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    "magic": flipped(PUBLISH, 0),
    "version": flipped(PUBLISH, 2),
    "attachments": flipped(PUBLISH, 3),
    "head length": flipped(PUBLISH, 4),
    "checksum": flipped(PUBLISH, 16),
    "head": flipped(PUBLISH, 26),
    "block checksum": flipped(PUBLISH, len(PUBLISH) - 200),
    "giant length": PUBLISH[:8] + b"\xff" * 8 + PUBLISH[16:],
    "negative length": PUBLISH[:8] + b"\x00" * 7 + b"\x80" + PUBLISH[16:],
    "unknown type": UNKNOWN,
    "nothing but zeros": bytes(1000),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_bytes_end_their_connection_and_no_other(
    listen: Any, dial_client: Any, data: bytes
) -> None:
    listener = await listen()
    good = await dial_client("127.0.0.1", listener.port)
    good_end = await listener.next()
    bad = await raw(listener.port)
    bad_end = await listener.next()
    bad.say(CLIENT)
    await bad_end.until(lambda: bad_end.opened)

    bad.write(data)

    assert "malformed message" in (await bad.read_until(Goodbye)).reason
    assert await bad.at_end()
    assert "malformed message" in await bad_end.closed()
    good.send(Taken("s", 1))
    await good_end.heard(Taken)
    await bad.close()


@pytest.mark.parametrize("seed", range(20))
async def test_any_flipped_byte_is_noticed_or_harmless(listen: Any, seed: int) -> None:
    """Whatever is flipped, the connection ends in good order or a well-formed message came."""
    listener = await listen(ConnectionOptions(linger_s=0.1))
    bad = await raw(listener.port)
    end = await listener.next()
    bad.say(CLIENT)
    chance = random.Random(seed)
    changed = bytearray(PUBLISH)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)

    bad.write(bytes(changed))
    bad.writer.write_eof()

    await end.closed()
    for message in end.messages:
        assert isinstance(message, Publish)
        assert message.batch.has_same_rows(BATCH)
    await bad.close()


async def test_a_truncated_frame_is_not_a_message(listen: Any) -> None:
    listener = await listen()
    bad = await raw(listener.port)
    end = await listener.next()
    bad.say(CLIENT)
    bad.write(PUBLISH[:-1])
    bad.writer.write_eof()

    assert await end.closed() == "the peer closed the connection"
    assert end.messages == []
    await bad.close()


async def test_a_reason_reaches_a_peer_that_is_still_sending(listen: Any) -> None:
    """Closing with unread input would reset the connection and destroy the reason."""
    listener = await listen()
    bad = await raw(listener.port)
    bad.say(CLIENT)

    bad.write(MALFORMED["random"] + bytes(2 << 20))

    assert "malformed message" in (await bad.read_until(Goodbye)).reason
    await bad.close()


async def test_an_error_of_the_owner_ends_only_that_connection(
    listen: Any, dial_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    listener = await listen()
    good = await dial_client("127.0.0.1", listener.port)
    good_end = await listener.next()
    bad = await dial_client("127.0.0.1", listener.port)
    bad_end = await listener.next()

    def fail(connection: Connection, messages: list[Message]) -> None:
        raise RuntimeError("a bug")

    bad_end.on_messages = fail
    bad.send(Taken("s", 1))

    assert "internal error" in await bad.closed()
    assert "a bug" in caplog.text
    good.send(Taken("s", 1))
    await good_end.heard(Taken)


# -- sending --------------------------------------------------------------------------------


async def test_what_is_sent_in_one_turn_arrives_together(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    await server.until(lambda: server.opened)

    client.send(*(Taken("s", number) for number in range(100)))

    await server.until(lambda: len(server.messages) == 100)
    assert [message.count_bytes for message in server.messages] == list(range(100))
    assert len(server.chunks) == 1


async def test_a_peer_that_does_not_read_stops_the_owner_and_reading_lets_it_go_on(
    listen: Any, dial_client: Any
) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    await server.until(lambda: server.opened)
    big = Batch.from_rows([({}, bytes(60_000))])
    server.connection.pause_reading()

    sent = 0
    while client.connection.writable_bytes:
        client.send(Publish("p", sent, big))
        client.connection.flush()
        sent += 1
    calls = client.writable_calls
    assert client.connection.unsent_bytes <= ConnectionOptions().write_room_bytes

    server.connection.resume_reading()
    await client.until(lambda: client.writable_calls > calls)
    assert client.connection.writable_bytes > 0
    await server.until(lambda: len(server.messages) == sent)
    assert [message.first_sequence for message in server.messages] == list(range(sent))


async def test_a_peer_that_lets_too_much_pile_up_is_given_up(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    options = ConnectionOptions(max_unsent_bytes=1 << 20)
    client = await dial_client("127.0.0.1", listener.port, options=options)
    server = await listener.next()
    server.connection.pause_reading()
    big = Batch.from_rows([({}, bytes(1 << 20))])

    while not client.connection.closed:
        client.send(Publish("p", 0, big))

    assert "max_unsent_bytes" in await client.closed()


async def test_frames_larger_than_any_buffer_arrive(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    payload = random.Random(1).randbytes(3 << 20)

    client.send(Publish("p", 0, Batch.from_rows([({}, payload)])), Taken("s", 1))

    await server.heard(Taken)
    assert server.messages[0].batch.payload_rows() == [payload]


async def test_a_kept_batch_is_not_overwritten_by_what_follows(
    listen: Any, dial_client: Any
) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    payloads = [bytes([number]) * 5000 for number in range(200)]

    for number, payload in enumerate(payloads):
        client.send(Publish("p", number, Batch.from_rows([({}, payload)])))

    await server.until(lambda: len(server.messages) == len(payloads))
    assert [message.batch.payload_rows()[0] for message in server.messages] == payloads


# -- ending ---------------------------------------------------------------------------------


async def test_what_was_sent_before_closing_arrives(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    big = Batch.from_rows([({}, bytes(1 << 20))])

    client.send(*(Publish("p", number, big) for number in range(5)))
    client.connection.close("that was all")

    assert await server.closed() == "that was all"
    assert len(server.messages) == 5
    await client.connection.wait_closed()
    await server.connection.wait_closed()


async def test_nothing_is_handed_over_after_the_end(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    await server.until(lambda: server.opened)

    server.connection.close("enough")
    client.send(Taken("s", 1))

    assert await client.closed() == "enough"
    await server.connection.wait_closed()
    assert server.messages == []
    client.send(Taken("s", 2))  # ignored
    client.connection.close("a second reason")
    assert client.closed_because == "enough"


async def test_an_aborted_connection_is_simply_lost_to_the_peer(
    listen: Any, dial_client: Any
) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    server = await listener.next()
    await server.until(lambda: server.opened)

    client.connection.abort("my own reason")

    assert await client.closed() == "my own reason"
    lost = await server.closed()
    assert "lost" in lost or "closed" in lost


# -- signs of life --------------------------------------------------------------------------


async def test_heartbeats_keep_an_idle_connection_alive(listen: Any) -> None:
    listener = await listen(QUICK)
    idle = await raw(listener.port)
    idle.say(CLIENT)
    server = await listener.next()

    for _ in range(10 * QUICK.silent_heartbeats):
        await idle.read_until(Heartbeat)
        idle.say(Heartbeat())

    assert not server.connection.closed
    assert server.messages == []
    await idle.close()


async def test_a_peer_without_a_sign_of_life_is_taken_for_dead(listen: Any) -> None:
    listener = await listen(QUICK)
    silent = await raw(listener.port)
    silent.say(CLIENT)
    server = await listener.next()

    reason = await server.closed()

    assert reason.startswith("no sign of life from c (127.0.0.1:")
    await silent.close()


async def test_not_reading_is_not_the_peers_silence(listen: Any) -> None:
    listener = await listen(QUICK)
    silent = await raw(listener.port)
    silent.say(CLIENT)
    server = await listener.next()
    await server.until(lambda: server.opened)

    server.connection.pause_reading()
    for _ in range(10 * QUICK.silent_heartbeats):
        await silent.read_until(Heartbeat)

    assert not server.connection.closed
    await silent.close()


async def test_little_waits_in_the_kernel(listen: Any, dial_client: Any) -> None:
    listener = await listen()
    client = await dial_client("127.0.0.1", listener.port)
    transport = client.connection._transport
    bound = ConnectionOptions().kernel_unsent_bytes

    raw_socket = transport.get_extra_info("socket")

    assert raw_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) <= bound
