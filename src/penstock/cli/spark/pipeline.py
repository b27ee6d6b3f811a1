"""The data pipeline of ``penstock up``: runs ``penstock lake`` as a separate process.

Spark takes seconds and one core to start.  In its own process it does not delay the live view, and
its failures do not affect the brokers or the view.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from penstock.core.clock import in_seconds

COMMAND: Final = (sys.executable, "-c", "from penstock.cli.main import run; run()", "lake")

EVERY_S: Final = 2.0
"""Time between micro-batches: short, so that the live view visibly changes."""

STOP_WITHIN_S: Final = 10.0
"""Time for the current micro-batch to finish; then the process is killed together with its JVM."""


GONE_GRAIN_S: Final = 0.02
"""Time for a killed process to disappear; the kernel does not report the end of a grandchild."""


class Progress(msgspec.Struct, frozen=True):
    """The report on one micro-batch; the fields are those of ``penstock lake --json``."""

    total_rows: int
    newest_ns: int


class Pipeline:
    """A landing job that runs for the duration of the ``async with`` block."""

    def __init__(self, url: str, lake: Path) -> None:
        """Write the telemetry of the overlay at ``url`` to ``lake``."""
        self.rows = 0
        self.newest_ns = 0
        self.problem = ""
        self._arguments = ["--url", url, "--path", str(lake), "--every", str(EVERY_S), "--json"]
        self._process: asyncio.subprocess.Process
        self._watching: asyncio.Task[None]
        self._ended = False
        self._landed = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start the process; Spark is ready some seconds later."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *self._arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            # Ctrl-C at a terminal signals the whole foreground group; we stop this one ourselves.
            start_new_session=True,
        )
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the process and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_WITHIN_S):
                await self._process.wait()
        await self._process_group_gone()
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)

    async def _process_group_gone(self) -> None:
        """Kill the rest of the process group, above all the JVM, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
            async with asyncio.timeout(STOP_WITHIN_S):
                while True:
                    os.killpg(self._process.pid, 0)
                    await asyncio.sleep(GONE_GRAIN_S)

    @property
    def lag_s(self) -> float | None:
        """Age of the newest row in the lake; None before the first row."""
        return in_seconds(max(0, time.time_ns() - self.newest_ns)) if self.newest_ns else None

    @property
    def state(self) -> str:
        """One word, or the error."""
        if self._ended:
            return f"ended: {self.problem}" if self.problem else "ended"
        return "running" if self.rows else "starting"

    async def landed(self) -> None:
        """Wait for the next micro-batch with rows, or for the end of the process."""
        self._landed.clear()
        if not self._ended:
            await self._landed.wait()

    async def _watch(self) -> None:
        """Read the process's output until it exits."""
        await asyncio.gather(self._read_progress(), self._read_errors())
        await self._process.wait()
        self._ended = True
        self._landed.set()

    async def _read_progress(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            progress = msgspec.json.decode(line, type=Progress)
            self.rows = progress.total_rows
            self.newest_ns = max(self.newest_ns, progress.newest_ns)
            self._landed.set()

    async def _read_errors(self) -> None:
        """Keep the last line, which holds the error if there is one; the rest is JVM output."""
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.problem = line.decode(errors="replace").strip() or self.problem
