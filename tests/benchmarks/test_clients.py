"""The pure parts of the raw clients, and clients as processes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.harness.clients import ClientFailed, Signals, client
from benchmarks.measures.pace import Arrivals
from benchmarks.peers import amqp, rabbitmq_stream
from benchmarks.peers.frames import FrameReader
from benchmarks.peers.nats import PING, without_pings
from benchmarks.peers.window import MarkCounter, Window


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[low:high] for low, high in pairwise(places)]


@given(st.lists(st.sampled_from([b'"seq"', b"x", b'"se', b'q"'])), st.lists(st.integers(0, 999)))
def test_marks_are_counted_wherever_the_stream_is_split(
    parts: list[bytes], cuts: list[int]
) -> None:
    data = b"|".join(parts)
    counter = MarkCounter(b'"seq"')
    assert sum(counter.count(piece) for piece in _pieces(data, cuts)) == data.count(b'"seq"')


def _stream_frame(payload: bytes) -> bytes:
    return struct.pack(">IHH", len(payload) + 4, 3, 1) + payload


@pytest.mark.parametrize(
    ("reader", "encode"),
    [
        (amqp.frame_reader, lambda payload: amqp.frame(3, 1, payload)),
        (rabbitmq_stream.frame_reader, _stream_frame),
    ],
)
@given(payloads=st.lists(st.binary(max_size=20)), cuts=st.lists(st.integers(0, 999)))
def test_frames_are_complete_wherever_the_stream_is_split(
    reader: Callable[[], FrameReader],
    encode: Callable[[bytes], bytes],
    payloads: list[bytes],
    cuts: list[int],
) -> None:
    taken = reader()
    data = b"".join(map(encode, payloads))
    frames = [each for piece in _pieces(data, cuts) for each in taken.feed(piece)]
    assert frames == [(3, payload) for payload in payloads]


async def test_a_window_admits_what_fits_and_raises_errors() -> None:
    window = Window(limit=10)
    await window.enter(6)
    waiting = asyncio.create_task(window.enter(6))
    await asyncio.sleep(0)
    assert not waiting.done()
    window.leave(2)
    await waiting
    ending = asyncio.create_task(window.empty())
    await asyncio.sleep(0)
    assert not ending.done()
    window.fail(ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        await ending


def test_delays_are_those_of_the_requested_interval() -> None:
    arrivals = Arrivals([10, 20, 30, 40], [1_000_000, 2_000_000, 3_000_000, 4_000_000])
    assert arrivals.between(20, 40).percentiles_ms({"p50": 50.0}) == {"p50": 2.5}
    assert arrivals.between(41, 50).percentiles_ms({"p50": 50.0}) == {}


async def _double(signals: Signals, number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is negative")
    signals.ready.set()
    return 2 * number


def test_a_client_returns_its_result_or_raises_its_error() -> None:
    with client(_double, 21) as working:
        working.wait_ready(60)
        assert working.result(60).value == 42
    with client(_double, -1) as failing, pytest.raises(ClientFailed, match="-1 is negative"):
        failing.wait_ready(60)


def test_pings_of_a_nats_server_are_stripped_from_messages() -> None:
    first, second = b"MSG bench 1 2\r\nab\r\n", b"MSG bench 1 2\r\ncd\r\n"
    length = len(first)
    assert without_pings(PING + first + PING + PING + second[:7], length) == first + second[:7]
    assert without_pings(first + second, length) == first + second
