"""``penstock bench``: measures a broker with one publisher and one subscriber.

1. Throughput: messages are published as fast as the broker confirms them and received over a
   second connection, for a few seconds.  The clock runs until the last message has arrived.
2. Latency: messages are sent at a steady rate well below the throughput, and timed from the call
   to the arrival.  A message that is sent late is timed from the instant at which it was due.

Publisher and subscriber run in this one process and share a core.  The messages have a topic of
their own and are durable: they stay in the broker's log until it is trimmed, and subscriptions to
everything receive them too.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Annotated, Final

import msgspec
import numpy as np
from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.cli.errors import told_in_one_line
from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError
from penstock.client.guaranteed.subscription import Subscription
from penstock.client.publishing.publisher import Publisher
from penstock.net.broker.kept_memory import keep_freed_memory

STAMP_BYTES: Final = 8
"""The payload begins with the instant from which a message's delay is counted."""

STEP_S: Final = 0.001
"""How often due messages are sent: the resolution of an event loop's timers."""

CALLS_AT_ONCE: Final = 256
"""Calls between two readings of the clock."""

UNREAD_BYTES: Final = 4 << 20
"""In-flight payload: a broker disconnects a subscriber with a backlog of 16 MB, and within one
process the publisher could get that far ahead of its own subscriber."""

Positive = Annotated[float, Parameter(validator=Number(gt=0))]


class Measured(msgspec.Struct, frozen=True):
    """The result; delays in milliseconds."""

    payload_bytes: int
    throughput_msgs_per_s: float
    latency_rate_msgs_per_s: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    held_back: str
    """The broker's reason for throttling the publisher; empty if it did not."""


class Way(msgspec.Struct, frozen=True):
    """The path from the publisher through the broker to the subscriber, and its messages."""

    publisher: Publisher
    subscription: Subscription
    attributes: dict[str, str]
    payload_bytes: int
    seconds: float
    deadline_s: float


def bench(
    *,
    seconds: Positive = 3.0,
    size: Annotated[int, Parameter(validator=Number(gte=STAMP_BYTES))] = 100,
    rate: Positive = 1000.0,
    pubend: str = "",
    url: str | None = None,
    deadline: Positive = 30.0,
    json: bool = False,
) -> None:
    """Measure the throughput and the latency of a broker; the messages stay in its log.

    Parameters
    ----------
    seconds
        How long each of the two measurements publishes.
    size
        Payload size in bytes.
    rate
        Messages per second in the latency measurement.
    pubend
        The stream to publish to (default: the broker chooses).
    url
        The broker, penstock://host:port (default: PENSTOCK_URL).
    deadline
        Seconds to wait for the broker.
    json
        Print the figures as one line of JSON.
    """
    with told_in_one_line(PenstockError, ValueError):
        measured = asyncio.run(_bench(seconds, size, rate, pubend, url, deadline))
    if json:
        print(msgspec.json.encode(measured).decode())
        return
    print(
        f"{measured.throughput_msgs_per_s:,.0f} messages/s of {size} bytes, each durable before it "
        "was received"
    )
    print(
        f"at {rate:,.0f} messages/s: p50 {measured.p50_ms:.2f} ms, p99 {measured.p99_ms:.2f} ms, "
        f"p99.9 {measured.p999_ms:.2f} ms from the call to the arrival"
    )
    if measured.held_back:
        print(f"the publisher was throttled: {measured.held_back}")


async def _bench(
    seconds: float, size: int, rate: float, pubend: str, url: str | None, deadline_s: float
) -> Measured:
    keep_freed_memory()
    topic = f"penstock-bench/{secrets.token_hex(8)}"
    notices: list[str] = []
    async with (
        connect(url, deadline_s=deadline_s) as client,
        connect(url, deadline_s=deadline_s) as reader,
        reader.subscribe(f"topic = '{topic}'") as subscription,
        _publisher(client, pubend, notices) as publisher,
    ):
        way = Way(publisher, subscription, {"topic": topic}, size, seconds, deadline_s)
        throughput = await _throughput(way)
        delays_ms = await _delays(way, rate)
    p50, p99, p999 = (float(each) for each in np.percentile(delays_ms, (50.0, 99.0, 99.9)))
    return Measured(size, throughput, rate, p50, p99, p999, notices[-1] if notices else "")


def _publisher(client: Client, pubend: str, notices: list[str]) -> Publisher:
    return client.publisher(
        pubend=pubend,
        on_throttle=lambda notice: notices.append(
            f"{notice.allowed_msgs_per_s:g} messages/s allowed because {notice.cause}"
        ),
    )


async def _throughput(way: Way) -> float:
    """Messages per second, from the first call to the last arrival."""
    payload = bytes(way.payload_bytes)
    room = max(CALLS_AT_ONCE, UNREAD_BYTES // way.payload_bytes)
    received = 0
    progress = asyncio.Event()
    began = time.monotonic()

    async def publish() -> int:
        sent = 0
        while time.monotonic() < began + way.seconds:
            for _ in range(CALLS_AT_ONCE):
                await way.publisher.send(way.attributes, payload)
            sent += CALLS_AT_ONCE
            while sent - received >= room:
                progress.clear()
                await progress.wait()
        await way.publisher.flush()
        return sent

    publishing = asyncio.create_task(publish())
    try:
        while not publishing.done() or received < publishing.result():
            received += len(await _next(way, publishing))
            progress.set()
    finally:
        publishing.cancel()
    return received / (time.monotonic() - began)


async def _delays(way: Way, rate: float) -> list[float]:
    """The delay of every message, in ms."""
    count = max(1, round(rate * way.seconds))
    rest = bytes(way.payload_bytes - STAMP_BYTES)

    async def publish() -> int:
        began_ns = time.monotonic_ns()
        sent = 0
        while sent < count:
            await asyncio.sleep(STEP_S)
            now_ns = time.monotonic_ns()
            due = min(count, int((now_ns - began_ns) * rate / 1e9))
            for number in range(sent, due):
                due_ns = began_ns + round(number * 1e9 / rate)
                # A timer may be one step late; a longer delay means that the broker held us up.
                late = now_ns - due_ns > 2 * STEP_S * 1e9
                stamp = (due_ns if late else now_ns).to_bytes(STAMP_BYTES, "little")
                await way.publisher.send(way.attributes, stamp + rest)
            sent = due
        await way.publisher.flush()
        return sent

    publishing = asyncio.create_task(publish())
    delays_ms: list[float] = []
    try:
        while len(delays_ms) < count:
            payloads = await _next(way, publishing)
            now_ns = time.monotonic_ns()
            delays_ms += [
                (now_ns - int.from_bytes(payload[:STAMP_BYTES], "little")) / 1e6
                for payload in payloads
            ]
    finally:
        publishing.cancel()
    return delays_ms


async def _next(way: Way, publishing: asyncio.Task[int]) -> list[bytes]:
    """The next payloads; if none arrive, raises the error of the publishing task."""
    arriving = asyncio.ensure_future(way.subscription.next_batch(deadline_s=way.deadline_s))
    try:
        await asyncio.wait((arriving, publishing), return_when=asyncio.FIRST_COMPLETED)
        if not arriving.done():
            publishing.result()
        return (await arriving).payloads
    finally:
        arriving.cancel()
