"""Runs a broker until it receives SIGTERM or SIGINT, and restarts it after a failure."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
import uvloop

from penstock.core.clock import in_seconds
from penstock.core.machine_failure import MachineFailed
from penstock.net.broker.config import BrokerConfig
from penstock.net.broker.kept_memory import keep_freed_memory
from penstock.net.broker.restarts import restart_back_off
from penstock.net.broker.server import BrokerServer
from penstock.net.broker.telemetry import TraceSink

logger = logging.getLogger(__name__)

SWITCH_INTERVAL_S: Final = 0.0005
"""The longest time that a runnable thread waits for the interpreter lock.  The commit thread takes
the lock three times for each commit, and all acknowledgements wait for that commit; Python's
default of 5 ms is longer than the disk takes."""


class Ready(msgspec.Struct, frozen=True):
    """The line that a broker process prints to standard output, once, when it listens."""

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
    """Run a broker in this process until SIGTERM or SIGINT.

    A broker whose machine raises restarts from its disk, on a new event loop, so that no state of
    the failed run is left; raises ``MachineFailed`` when it has failed too often.
    """
    keep_freed_memory()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    restarts = restart_back_off()
    pause_s = 0.0
    while True:
        ended = uvloop.run(_serve(config, on_ready, on_trace, pause_s))
        if ended.failure is None:
            return
        wait = restarts.wait_after_failure(time.monotonic_ns())
        if wait is None:
            logger.critical("the broker failed too often and gives up: %s", ended.failure)
            raise ended.failure
        pause_s = in_seconds(wait)
        logger.warning("the broker starts again in %g s", pause_s)
        # Neighbours and clients reconnect to the previous address.
        config = msgspec.structs.replace(config, listen=ended.listened_at)
        on_ready = _already_said
        gc.unfreeze()
        gc.collect()


class _Ended(msgspec.Struct, frozen=True):
    """How a run ended: with the failure of the machine, or because it received a signal."""

    listened_at: str
    failure: MachineFailed | None = None


async def _serve(
    config: BrokerConfig,
    on_ready: Callable[[Ready], None],
    on_trace: TraceSink | None,
    pause_s: float,
) -> _Ended:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    if pause_s:
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), pause_s)
            return _Ended(config.listen)
    server = BrokerServer(config, on_trace)
    await server.start()
    # Modules and types are never freed: scanning them would block the loop for 30 ms at times.
    gc.freeze()
    address = server.address
    on_ready(Ready(config.name, address.host, address.port, os.getpid()))
    stopped = asyncio.ensure_future(stopping.wait())
    await asyncio.wait((stopped, server.failure), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if server.failure.done():
        await server.abandon()
        return _Ended(str(address), server.failure.result())
    await server.stop()
    return _Ended(str(address))


def _already_said(ready: Ready) -> None:
    """Print nothing: the first start has reported the address, which has not changed."""
