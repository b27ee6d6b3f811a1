"""A connection in memory behaves as one over sockets."""

from __future__ import annotations

import asyncio

from penstock.testing.pipe import SOCKET_BYTES, PipeEnd, connect_in_memory

LATENCY_S = 0.0


class Recorder(asyncio.BufferedProtocol):
    """Notes what happens at one end."""

    def __init__(self, room_bytes: int = 64) -> None:
        self.transport: PipeEnd
        self.received = b""
        self.events: list[str] = []
        self.lost = asyncio.get_running_loop().create_future()
        self._buffer = bytearray(room_bytes)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, PipeEnd)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]

    def eof_received(self) -> bool:
        self.events.append("end of file")
        return False

    def pause_writing(self) -> None:
        self.events.append("paused")

    def resume_writing(self) -> None:
        self.events.append("resumed")

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append(f"lost: {exc}")
        self.lost.set_result(exc)


class Line:
    """A pipe between two recorders, and whether its network is stalled."""

    def __init__(self) -> None:
        self.stalled = False
        self.here, self.there = Recorder(), Recorder()
        connect_in_memory(
            self.here,
            self.there,
            names=(("127.0.0.1", 1), ("127.0.0.1", 2)),
            latency_s=LATENCY_S,
            stalled=lambda: self.stalled,
        )

    async def settled(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


async def test_bytes_arrive_whole_and_in_order() -> None:
    line = Line()
    sent = b""
    for number in range(50):
        piece = bytes([number]) * 7
        line.here.transport.writelines([piece[:3], piece[3:]])
        sent += piece
    await line.settled()
    assert line.there.received == sent
    assert line.here.transport.get_extra_info("peername") == ("127.0.0.1", 2)
    assert line.there.transport.get_extra_info("peername") == ("127.0.0.1", 1)


async def test_what_is_written_may_change_afterwards() -> None:
    line = Line()
    piece = bytearray(b"before")
    line.here.transport.write(piece)
    piece[:] = b"after!"
    await line.settled()
    assert line.there.received == b"before"


async def test_an_end_that_does_not_read_holds_the_writer_back() -> None:
    line = Line()
    line.here.transport.set_write_buffer_limits(high=100, low=10)
    line.there.transport.pause_reading()
    line.here.transport.write(b"x" * SOCKET_BYTES)
    assert line.here.transport.get_write_buffer_size() == 0
    line.here.transport.write(b"x" * 101)
    assert line.here.transport.get_write_buffer_size() == 101
    await line.settled()
    assert line.here.events == ["paused"]
    assert line.there.received == b""
    line.there.transport.resume_reading()
    await line.settled()
    assert line.here.events == ["paused", "resumed"]
    assert len(line.there.received) == SOCKET_BYTES + 101


async def test_closing_delivers_what_was_written() -> None:
    line = Line()
    line.here.transport.write(b"goodbye")
    line.here.transport.close()
    line.here.transport.write(b"too late")
    await line.settled()
    assert line.there.received == b"goodbye"
    assert line.there.events == ["end of file", "lost: None"]
    assert line.here.events == ["lost: None"]


async def test_an_end_of_file_leaves_the_other_direction_open() -> None:
    line = Line()
    line.here.transport.write_eof()
    line.there.transport.write(b"still there")
    await line.settled()
    assert line.here.received == b"still there"
    assert line.here.events == ["end of file", "lost: None"]


async def test_aborting_loses_what_is_under_way_and_resets_the_other_end() -> None:
    line = Line()
    line.here.transport.write(b"lost")
    line.here.transport.abort()
    await line.settled()
    assert line.there.received == b""
    assert line.here.events == ["lost: None"]
    assert isinstance(line.there.lost.result(), ConnectionResetError)


async def test_a_dropped_connection_is_over_at_both_ends() -> None:
    line = Line()
    line.here.transport.write(b"lost")
    for end in (line.here.transport, line.there.transport):
        end.drop("the cable was cut")
    await line.settled()
    assert line.here.events == line.there.events == ["lost: the cable was cut"]
    assert line.there.received == b""


async def test_a_stalled_network_delivers_later() -> None:
    line = Line()
    line.stalled = True
    line.here.transport.write(b"patience")
    line.here.transport.close()
    await line.settled()
    assert line.there.received == b""
    line.stalled = False
    line.here.transport.deliver()
    await line.settled()
    assert line.there.received == b"patience"
    assert line.there.events == ["end of file", "lost: None"]
