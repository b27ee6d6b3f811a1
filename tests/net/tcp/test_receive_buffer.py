from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.codec.envelope import ENVELOPE, MAGIC, WIRE_VERSION
from penstock.content.codec.malformed import MalformedMessage
from penstock.net.tcp.receive_buffer import (
    FIRST_BUFFER_BYTES,
    LARGEST_BUFFER_BYTES,
    OWN_BUFFER_BYTES,
    PEEK_BYTES,
    ReceiveBuffer,
)

MAX_FRAME_BYTES = 4 << 20


def frame_of(body: bytes) -> bytes:
    return ENVELOPE.pack(MAGIC, WIRE_VERSION, 0, 0, len(body), 0) + body


def feed(buffer: ReceiveBuffer, data: bytes, read_bytes: int) -> list[bytes]:
    """Write into the buffer as a socket would: never more than the room, nor than a read gives."""
    frames: list[bytes] = []
    left = memoryview(data)
    while left:
        room = buffer.room()
        assert len(room)
        count = min(len(room), read_bytes, len(left))
        room[:count] = left[:count]
        left = left[count:]
        frames += buffer.received(count)
    return frames


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(
        st.integers(0, 3000)
        | st.sampled_from([0, 16_360, 40_000, 131_072, 500_000, 700_000, 3_000_000]),
        max_size=6,
    ),
    read_bytes=st.sampled_from([1000, 1460, 4096, 65_536, 1 << 20]),
)
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    sizes: list[int], read_bytes: int
) -> None:
    sent = [frame_of(bytes([number]) * size) for number, size in enumerate(sizes)]
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)

    frames = feed(buffer, b"".join(sent), read_bytes)

    # Compared at the end: no frame may have been overwritten by those that came after it.
    assert [bytes(frame) for frame in frames] == sent
    assert buffer.held_bytes == 0


def test_single_bytes_are_enough() -> None:
    sent = [frame_of(b"one"), frame_of(b""), frame_of(b"three")]

    frames = feed(ReceiveBuffer(MAX_FRAME_BYTES), b"".join(sent), 1)

    assert frames == sent


def test_many_small_frames_come_out_of_one_read() -> None:
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)
    data = frame_of(b"x" * 8) * 100

    buffer.room()[: len(data)] = data

    assert len(buffer.received(len(data))) == 100


def test_the_buffer_grows_with_traffic_up_to_its_bound() -> None:
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)
    assert len(buffer.room()) == FIRST_BUFFER_BYTES

    feed(buffer, frame_of(b"x" * 1000) * 4000, 1 << 30)

    assert len(buffer.room()) == LARGEST_BUFFER_BYTES


def test_a_large_frame_reserves_nothing_before_its_bytes_arrive() -> None:
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)

    feed(buffer, frame_of(b"x" * (3 << 20))[:FIRST_BUFFER_BYTES], 1 << 30)

    assert len(buffer.room()) < 2 * LARGEST_BUFFER_BYTES


def test_after_a_large_frame_the_buffer_is_small_again() -> None:
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)

    feed(buffer, frame_of(b"x" * (3 << 20)), 1 << 30)

    assert len(buffer.room()) <= LARGEST_BUFFER_BYTES


def test_behind_a_large_frame_little_is_read_until_the_next_one_is_known() -> None:
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)
    large, small = frame_of(b"x" * (OWN_BUFFER_BYTES + 1)), frame_of(b"y" * 10_000)

    feed(buffer, large, 1 << 30)
    assert len(buffer.room()) == PEEK_BYTES
    assert feed(buffer, small[:PEEK_BYTES], 1 << 30) == []
    assert len(buffer.room()) > PEEK_BYTES, "it is a small one: read on as usual"
    assert feed(buffer, small[PEEK_BYTES:], 1 << 30) == [small]


def test_a_large_frame_is_not_copied_after_the_first_read() -> None:
    buffer = ReceiveBuffer(MAX_FRAME_BYTES)
    large = frame_of(b"x" * 400_000)

    feed(buffer, large[:100], 1 << 30)
    room = buffer.room()
    assert len(room) == len(large) - 100
    (frame,) = feed(buffer, large[100:], 1 << 30)
    assert frame.obj is room.obj


def test_a_frame_that_is_too_long_is_refused_by_its_announcement() -> None:
    buffer = ReceiveBuffer(1000)

    with pytest.raises(MalformedMessage, match="at most 1000 are accepted"):
        feed(buffer, frame_of(b"x" * 1001)[: ENVELOPE.size], 1 << 30)


def test_a_wrong_first_byte_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="not a Penstock message"):
        feed(ReceiveBuffer(MAX_FRAME_BYTES), b"GET / HTTP/1.1\r\nHost: localhost\r\n", 1 << 30)
