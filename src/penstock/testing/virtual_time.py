"""Virtual time on an asyncio event loop that exists already.

1. ``loop.time()`` is a count that only this module moves.  When nothing is ready to run, the loop
   would sleep until its next timer; instead the count jumps to that timer.  Every
   ``asyncio.sleep``, ``asyncio.timeout`` and ``call_later`` on the loop follows.
2. The count starts at zero, so that the same test computes the same floating-point times in every
   run.  Timers that were set before keep the time that they had left, then and at the end.
3. While a function runs in the loop's executor (``asyncio.to_thread``) time stands still, because
   its result may be what the program waits for; one that takes longer than ``STILL_S`` of real time
   may itself wait for a timer, so time passes in steps of that length.
4. Sockets that the test has open may be about to bring something: before every jump the loop gives
   them ``PATIENCE_S`` of real time.
5. Time that is held (``hold``) jumps only while a call is inside ``passing``.
6. A test that has used ``limit_s`` of virtual time waits for what never comes:
   ``TimeLimitReached`` is raised out of the loop and says where every task waits.

It needs a loop that asks its selector to sleep, which all loops of asyncio do and uvloop does not.
"""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import penstock
from penstock.core.clock import SECOND, Duration, in_seconds, seconds
from penstock.testing.errors import BrokerMisused, TimeLimitReached

STILL_S: Final = 5.0
"""Real time for which one function in a thread stops virtual time: far above a query of a local
database, and short for a test that would wait for ever."""

PATIENCE_S: Final = 0.01
"""Real time that an open socket gets before a jump: a hundred times what a loopback takes."""

LIMIT_S: Final = 2 * 3600.0
"""Virtual time that a test may take unless it says otherwise: it can sleep for an hour, and one
that waits for what never comes fails within some three seconds (an hour takes 0.5 s to 1.5 s)."""

MOST_TASKS_NAMED: Final = 10
"""How many waiting tasks an error describes."""

MOST_TURNS: Final = 1000
"""Turns of the loop at one instant after which ``settle`` gives up."""

MOST_SECONDS: Final = 2**52 // SECOND
"""Up to here, 52 days, a floating-point number of seconds tells nanoseconds apart."""

NOT_OF_THE_TEST: Final = (str(Path(penstock.__file__).parent), str(Path(asyncio.__file__).parent))
"""Code in which a test always waits, and which says nothing about why."""


class VirtualTime:
    """The time of one event loop, from ``install`` to ``remove``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_s: float = LIMIT_S) -> None:
        """Raises ``BrokerMisused`` for a loop of another kind; changes nothing yet."""
        if not 0 < limit_s <= MOST_SECONDS:
            raise ValueError(f"limit_s={limit_s!r}: use more than 0 and at most {MOST_SECONDS}")
        selector: Any = getattr(loop, "_selector", None)
        if not hasattr(selector, "select") or not hasattr(loop, "_scheduled"):
            raise BrokerMisused(
                f"virtual time needs an event loop of asyncio, and this one is {type(loop)!r}: run "
                "the test with penstock.testing.run(...), or pass virtual_time=False"
            )
        self.now_ns: Duration = 0
        """Virtual nanoseconds since ``install``."""
        self._loop: Any = loop
        self._selector: Any = selector
        self._limit_s = limit_s
        self._limit_ns = seconds(limit_s)
        self._real_select: Callable[[float | None], list[Any]] = selector.select
        self._real_run_in_executor = loop.run_in_executor
        self._jobs = 0
        self._held = False
        self._passing = 0

    # -- beginning and end ------------------------------------------------------------------

    def install(self) -> None:
        """Take the loop's time over."""
        self._shift_timers(-self._loop.time())
        self._loop.time = self._time_s
        self._loop.run_in_executor = self._run_in_executor
        self._selector.select = self._select

    def remove(self) -> None:
        """Give the loop its own time back."""
        virtual_s = self._time_s()
        del self._loop.time, self._loop.run_in_executor, self._selector.select
        self._shift_timers(self._loop.time() - virtual_s)

    def _shift_timers(self, by_s: float) -> None:
        # All by the same amount, so that the heap stays one.
        for timer in self._loop._scheduled:
            timer._when += by_s

    # -- for the test -----------------------------------------------------------------------

    async def advance(self, duration_s: float) -> None:
        """Let so much time pass; it does not count towards the limit."""
        if duration_s < 0:
            raise ValueError(f"advance({duration_s!r}): time does not go back; use 0 or more")
        if in_seconds(self.now_ns) + duration_s > MOST_SECONDS:
            raise ValueError(
                f"advance({duration_s!r}): virtual time ends after {MOST_SECONDS} s, beyond which "
                "the event loop's clock is too coarse; use less, or a second broker"
            )
        self._limit_ns += seconds(duration_s)
        await asyncio.sleep(duration_s)

    def hold(self) -> None:
        """From now on time passes only inside ``passing``."""
        self._held = True

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Let held time pass meanwhile."""
        self._passing += 1
        try:
            yield
        finally:
            self._passing -= 1

    async def settle(self) -> None:
        """Wait until nothing more happens at this instant, for ``MOST_TURNS`` turns at most."""
        for _ in range(MOST_TURNS):
            await asyncio.sleep(0)
            if not self._loop._ready:
                return

    # -- the loop's calls -------------------------------------------------------------------

    def _time_s(self) -> float:
        return in_seconds(self.now_ns)

    def _run_in_executor(self, *arguments: Any) -> Any:
        job = self._real_run_in_executor(*arguments)
        self._jobs += 1
        job.add_done_callback(self._job_done)
        return job

    def _job_done(self, job: object) -> None:
        self._jobs -= 1

    def _select(self, timeout_s: float | None = None) -> list[Any]:
        """In place of the selector's: what is ready, or a jump instead of a sleep."""
        events = self._real_select(0)
        if events or (timeout_s is not None and timeout_s <= 0):
            return events
        if timeout_s is None or (self._held and not self._passing):
            return self._real_select(None)
        if self._jobs:
            events = self._real_select(STILL_S)
            if not events:
                self._jump(min(timeout_s, STILL_S))
            return events
        if self._has_sockets():
            events = self._real_select(PATIENCE_S)
        if not events:
            self._jump(timeout_s)
        return events

    def _has_sockets(self) -> bool:
        get_map = getattr(self._selector, "get_map", None)
        # One is the loop's own, by which threads wake it.
        return get_map is not None and len(get_map()) > 1

    def _jump(self, by_s: float) -> None:
        # A whole nanosecond at least: a timer that is due in less must not be asked for twice.
        self.now_ns += max(1, round(by_s * SECOND))
        if self.now_ns > self._limit_ns:
            # Once: what is cleaned up after the error needs time, too.
            self._limit_ns += self._limit_ns
            raise TimeLimitReached(
                f"{in_seconds(self.now_ns):g} s of virtual time have passed and the test still "
                f"waits{waiting_tasks(self._loop)}; if it is right to wait that long, pass a "
                f"limit_s above {self._limit_s:g}"
            )


def waiting_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Where the tasks of a loop wait, without those of Penstock itself."""
    found = []
    for task in asyncio.all_tasks(loop):
        frame = _place(task.get_coro())
        if frame is not None:
            name, line = frame.f_code.co_filename, frame.f_lineno
            found.append(f"{name}:{line} ({linecache.getline(name, line).strip()})")
    if not found:
        return ""
    named = sorted(found)[:MOST_TASKS_NAMED]
    more = f" and at {len(found) - len(named)} more places" if len(found) > len(named) else ""
    return " at " + ", at ".join(named) + more


def _place(awaited: Any) -> FrameType | None:
    """The innermost line of the test or the application in what a task waits for."""
    place = None
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None and not frame.f_code.co_filename.startswith(NOT_OF_THE_TEST):
            place = frame
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return place
