"""The data pipeline of ``penstock up``: ``penstock lake`` as a process of its own.

Spark takes seconds to start and a core while it does; in its own process the view is there at once,
and whatever happens to it happens to nobody else.
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
"""From one micro-batch to the next: the view should be seen to move."""

STOP_WITHIN_S: Final = 10.0
"""A micro-batch that is under way may finish; then the process is killed, with its JVM."""


GONE_GRAIN_S: Final = 0.02
"""A killed process takes about so long to go; nobody tells when a grandchild has."""


class Progress(msgspec.Struct, frozen=True):
    """What the job says of a micro-batch; the fields are those of ``penstock lake --json``."""

    total_rows: int
    newest_ns: int


class Pipeline:
    """A landing job that runs while the block does."""

    def __init__(self, url: str, lake: Path) -> None:
        """Telemetry of the overlay at ``url`` goes to ``lake``."""
        self.rows = 0
        self.newest_ns = 0
        self.problem = ""
        self._arguments = ["--url", url, "--path", str(lake), "--every", str(EVERY_S), "--json"]
        self._process: asyncio.subprocess.Process
        self._watching: asyncio.Task[None]
        self._ended = False
        self._landed = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start the process; it is ready some seconds later."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *self._arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            # Ctrl-C at a terminal reaches all processes in front of it: this one is stopped by us.
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
        """Stop it, and leave nothing of it running."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_WITHIN_S):
                await self._process.wait()
        await self._process_group_gone()
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)

    async def _process_group_gone(self) -> None:
        """Kill what is left, the JVM above all, and wait until the system has let go of it."""
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
            async with asyncio.timeout(STOP_WITHIN_S):
                while True:
                    os.killpg(self._process.pid, 0)
                    await asyncio.sleep(GONE_GRAIN_S)

    @property
    def lag_s(self) -> float | None:
        """How far the newest row in the lake is behind the clock; None before the first."""
        return in_seconds(max(0, time.time_ns() - self.newest_ns)) if self.newest_ns else None

    @property
    def state(self) -> str:
        """In a word, or what is wrong."""
        if self._ended:
            return f"ended: {self.problem}" if self.problem else "ended"
        return "running" if self.rows else "starting"

    async def landed(self) -> None:
        """Wait for the next micro-batch with rows, or the end of the process."""
        self._landed.clear()
        if not self._ended:
            await self._landed.wait()

    async def _watch(self) -> None:
        """Hear everything that the process says, until it is gone."""
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
        """The last line tells what is wrong, if anything is; the rest is the JVM's talk."""
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.problem = line.decode(errors="replace").strip() or self.problem
