"""Readers are woken together, and each knows when it has waited too long."""

from __future__ import annotations

import asyncio
import math

from penstock.client.guaranteed.waiting_readers import WaitingReaders


async def waiting(readers: WaitingReaders, *after_s: float) -> list[asyncio.Task[bool]]:
    """Readers with these deadlines from now on, all of which wait."""
    now_s = asyncio.get_running_loop().time()
    tasks = [asyncio.create_task(readers.wait(now_s + each)) for each in after_s]
    await asyncio.sleep(0)
    return tasks


async def test_all_who_wait_are_woken() -> None:
    readers = WaitingReaders(asyncio.get_running_loop())
    tasks = await waiting(readers, 60.0, math.inf)
    readers.wake()
    assert await asyncio.gather(*tasks) == [True, True]


async def test_only_those_whose_deadline_has_passed_give_up() -> None:
    readers = WaitingReaders(asyncio.get_running_loop())
    late, sooner, patient = await waiting(readers, 0.02, 0.01, math.inf)
    assert [await sooner, await late] == [False, False]
    assert not patient.done()
    readers.wake()
    assert await patient


async def test_a_timer_that_was_set_for_another_fires_in_vain() -> None:
    readers = WaitingReaders(asyncio.get_running_loop())
    (first,) = await waiting(readers, 0.01)
    readers.wake()
    assert await first
    (second,) = await waiting(readers, 0.03)
    assert not await second


async def test_who_is_cancelled_waits_no_more() -> None:
    readers = WaitingReaders(asyncio.get_running_loop())
    (gone,) = await waiting(readers, math.inf)
    gone.cancel()
    await asyncio.wait([gone])
    readers.wake()
    assert gone.cancelled()
