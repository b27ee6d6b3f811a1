"""Readers that wait for something to read, each until its own deadline.

A reader waits anew for every batch, thousands of times a second, and nearly never reaches its
deadline.  So there is one timer for all of them, which is not cancelled when a reader is woken: it
fires once in a while, wakes readers whose deadline has passed, and is set again only while a reader
waits.
"""

from __future__ import annotations

import asyncio
import math


class WaitingReaders:
    """Readers and the timer that looks after them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """``loop`` gives the time and the timer."""
        self._loop = loop
        self._waiting: dict[asyncio.Future[bool], float] = {}
        """Each with its deadline, by the loop's clock."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_s = math.inf

    async def wait(self, until_s: float) -> bool:
        """Until ``wake``; False if it is this late by the loop's clock before."""
        reader: asyncio.Future[bool] = self._loop.create_future()
        self._waiting[reader] = until_s
        if until_s < self._timer_at_s:
            self._set_timer(until_s)
        try:
            return await reader
        finally:
            self._waiting.pop(reader, None)

    def wake(self) -> None:
        """Wake all readers: there is something to read, or there will never be."""
        if self._waiting:
            for reader in self._waiting:
                if not reader.done():
                    reader.set_result(True)
            self._waiting.clear()

    def _set_timer(self, at_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at_s = at_s
        self._timer = self._loop.call_at(at_s, self._look)

    def _look(self) -> None:
        self._timer, self._timer_at_s = None, math.inf
        now_s = self._loop.time()
        for reader, until_s in self._waiting.items():
            if until_s <= now_s and not reader.done():
                reader.set_result(False)
        left = [until_s for until_s in self._waiting.values() if now_s < until_s < math.inf]
        if left:
            self._set_timer(min(left))
