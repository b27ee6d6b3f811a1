"""Messages at a steady rate, each with the instant at which its clock started.

1. A client sends what is due about every millisecond, the resolution of an event loop's timers.
2. A message's clock starts when it is sent.  If the sender was delayed for longer than
   ``SLACK_NS``, it starts when the message was due, so that a server cannot hide the waiting time
   of its producers.
3. The instant is read from the machine's monotonic clock, which all processes share, and is stored
   in the first eight bytes of the payload.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from typing import Final

import msgspec
import numpy as np

from benchmarks.harness.clients import Signals
from benchmarks.harness.server import Server
from benchmarks.peers.peer import Receiver, Variant

STEP_S: Final = 0.001
SLACK_NS: Final = 2_000_000
"""Two steps: a timer may be late by one."""

LOOK_EVERY_S: Final = 0.05
STAMP_BYTES: Final = 8


class Arrivals(msgspec.Struct, frozen=True):
    """When messages arrived, and their delays."""

    instants_ns: list[int]
    delays_ns: list[int]

    def between(self, low_ns: int, high_ns: int) -> Arrivals:
        """The arrivals between two instants."""
        low, high = bisect_left(self.instants_ns, low_ns), bisect_left(self.instants_ns, high_ns)
        return Arrivals(self.instants_ns[low:high], self.delays_ns[low:high])

    def percentiles_ms(self, parts: dict[str, float]) -> dict[str, float]:
        """For each name the percentile of the delay; empty if nothing arrived."""
        if not self.delays_ns:
            return {}
        return {
            name: float(np.percentile(self.delays_ns, part)) / 1e6 for name, part in parts.items()
        }


async def produce_steadily(
    signals: Signals, variant: Variant, server: Server, rate: int, count: int, size: int
) -> None:
    """Send ``count`` messages at this rate, or fewer if stopped."""
    rest = bytes(size - STAMP_BYTES)
    async with variant.sender(server, size) as sender:
        began_ns = time.monotonic_ns()
        sent = 0
        while sent < count and not signals.stop.is_set():
            await asyncio.sleep(STEP_S)
            now_ns = time.monotonic_ns()
            due = min(count, (now_ns - began_ns) * rate // 1_000_000_000)
            payloads = []
            for number in range(sent, due):
                due_ns = began_ns + number * 1_000_000_000 // rate
                stamp_ns = now_ns if now_ns - due_ns <= SLACK_NS else due_ns
                payloads.append(stamp_ns.to_bytes(STAMP_BYTES, "little") + rest)
            if payloads:
                await sender.send(sender.encode(payloads), len(payloads))
                sent = due
        await sender.settle()


async def collect(receiver: Receiver, most: int, arrivals: Arrivals) -> None:
    """Receive up to ``most`` messages and record their delays."""
    while len(arrivals.instants_ns) < most:
        payloads = await receiver.receive()
        now_ns = time.monotonic_ns()
        stamps = [int.from_bytes(payload[:STAMP_BYTES], "little") for payload in payloads]
        arrivals.instants_ns.extend([now_ns] * len(stamps))
        arrivals.delays_ns.extend([now_ns - stamp for stamp in stamps])


async def consume_steadily(
    signals: Signals, variant: Variant, server: Server, name: str, count: int, size: int
) -> Arrivals:
    """Receive ``count`` messages, or fewer if stopped."""
    arrivals = Arrivals([], [])
    async with variant.receiver(server, name, size) as receiver:
        signals.ready.set()
        collecting = asyncio.create_task(collect(receiver, count, arrivals))
        while not collecting.done() and not signals.stop.is_set():
            await asyncio.wait([collecting], timeout=LOOK_EVERY_S)
        if collecting.done():
            collecting.result()
        collecting.cancel()
        await asyncio.wait([collecting])
    return arrivals
