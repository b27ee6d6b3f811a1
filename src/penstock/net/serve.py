"""Running a broker until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

import msgspec
import uvloop

from penstock.net.config import BrokerConfig
from penstock.net.server import BrokerServer
from penstock.net.telemetry import TraceSink

SWITCH_INTERVAL_S: Final = 0.0005
"""How long a thread that has work waits for the interpreter at most.  The commit thread needs it
three times for a commit, for which everybody waits; Python's own 5 ms are longer than the disk
takes."""


class Ready(msgspec.Struct, frozen=True):
    """What a broker process says on its standard output, once, when it listens."""

    name: str
    host: str
    port: int
    process: int


def serve(
    config: BrokerConfig,
    *,
    on_ready: Callable[[Ready], None],
    on_trace: TraceSink | None = None,
) -> None:
    """Run a broker in this process until SIGTERM or SIGINT."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    uvloop.run(_serve(config, on_ready, on_trace))


async def _serve(
    config: BrokerConfig, on_ready: Callable[[Ready], None], on_trace: TraceSink | None
) -> None:
    server = BrokerServer(config, on_trace)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await server.start()
    # Modules and types stay: looking through them would hold up everybody for 30 ms now and then.
    gc.freeze()
    address = server.address
    on_ready(Ready(config.name, address.host, address.port, os.getpid()))
    await stopping.wait()
    await server.stop()
