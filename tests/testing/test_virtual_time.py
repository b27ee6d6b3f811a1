"""Virtual time on the event loop that pytest-asyncio made."""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvloop

from penstock.core.clock import HOUR, SECOND
from penstock.testing.errors import BrokerMisused, TimeLimitReached
from penstock.testing.virtual_time import MOST_SECONDS, VirtualTime, waiting_tasks


@contextmanager
def virtual_time(limit_s: float = 2 * 3600) -> Iterator[VirtualTime]:
    virtual = VirtualTime(asyncio.get_running_loop(), limit_s)
    virtual.install()
    try:
        yield virtual
    finally:
        virtual.remove()


async def test_sleeping_takes_exactly_as_long_as_it_says() -> None:
    with virtual_time() as virtual:
        await asyncio.sleep(3600)
        assert virtual.now_ns == HOUR
        assert asyncio.get_running_loop().time() == 3600.0


async def test_the_earliest_timer_comes_first() -> None:
    with virtual_time():
        order = []

        async def after(delay_s: float) -> None:
            await asyncio.sleep(delay_s)
            order.append(delay_s)

        await asyncio.gather(after(30), after(0.001), after(86))
        assert order == [0.001, 30, 86]


async def test_timeouts_are_virtual() -> None:
    with virtual_time() as virtual:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.Event().wait()
        assert virtual.now_ns == 10 * SECOND


async def test_timers_from_before_and_for_afterwards_keep_what_they_have_left() -> None:
    loop = asyncio.get_running_loop()
    called: list[str] = []
    before = loop.call_later(100, called.append, "before")
    with virtual_time():
        assert 0 < before.when() - loop.time() <= 100
        await asyncio.sleep(50)
        after = loop.call_later(100, called.append, "after")
        await asyncio.sleep(60)
        assert called == ["before"]
    assert 0 < after.when() - loop.time() <= 40
    after.cancel()


async def test_a_function_in_a_thread_takes_no_virtual_time() -> None:
    with virtual_time() as virtual:
        timer = asyncio.create_task(asyncio.sleep(1))
        working = threading.Event()

        def work() -> int:
            working.set()
            time.sleep(0.02)
            return 42

        assert await asyncio.to_thread(work) == 42
        assert working.is_set()
        assert virtual.now_ns == 0
        await timer
        assert virtual.now_ns == SECOND


async def test_a_socket_is_heard_before_time_jumps() -> None:
    loop = asyncio.get_running_loop()
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    with here, there, virtual_time() as virtual:
        receiving = asyncio.create_task(loop.sock_recv(here, 10))
        await asyncio.sleep(0)
        await loop.sock_sendall(there, b"hello")
        async with asyncio.timeout(5):
            assert await receiving == b"hello"
        assert virtual.now_ns < 5 * SECOND


async def test_time_that_is_held_passes_only_on_request() -> None:
    with virtual_time() as virtual:
        virtual.hold()
        loop = asyncio.get_running_loop()
        woken = threading.Timer(0.02, lambda: loop.call_soon_threadsafe(held.set))
        held = asyncio.Event()
        timer = asyncio.create_task(asyncio.sleep(1))
        woken.start()
        await held.wait()
        assert virtual.now_ns == 0
        with virtual.passing():
            await timer
        assert virtual.now_ns == SECOND


async def test_settling_runs_what_is_ready_and_lets_no_time_pass() -> None:
    with virtual_time() as virtual:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        loop.call_soon(loop.call_soon, loop.call_soon, done.set)
        await virtual.settle()
        assert done.is_set()
        assert virtual.now_ns == 0


def test_a_test_that_waits_for_ever_is_told_where() -> None:
    async def stuck() -> None:
        with virtual_time(limit_s=60):
            asyncio.get_running_loop().call_later(100, int)
            await asyncio.Event().wait()

    with pytest.raises(TimeLimitReached, match=r"still waits at .*test_virtual_time.py.*Event.*60"):
        asyncio.run(stuck())


async def test_what_is_advanced_does_not_count_towards_the_limit() -> None:
    with virtual_time(limit_s=60) as virtual:
        await virtual.advance(3600)
        await asyncio.sleep(59)


async def test_time_neither_goes_back_nor_beyond_what_a_float_can_tell() -> None:
    with virtual_time() as virtual:
        with pytest.raises(ValueError, match="does not go back"):
            await virtual.advance(-1)
        with pytest.raises(ValueError, match="too coarse"):
            await virtual.advance(MOST_SECONDS + 1)
    with pytest.raises(ValueError, match="limit_s=0"):
        VirtualTime(asyncio.get_running_loop(), 0)


def test_a_loop_without_a_selector_is_refused() -> None:
    async def enter() -> None:
        VirtualTime(asyncio.get_running_loop())

    with pytest.raises(BrokerMisused, match=r"penstock.testing.run.*virtual_time=False"):
        uvloop.run(enter())


async def test_the_selector_is_given_back_as_it_was() -> None:
    loop = asyncio.get_running_loop()
    selector: selectors.BaseSelector = loop._selector  # type: ignore[attr-defined]
    with virtual_time():
        assert "select" in vars(selector)
    assert "select" not in vars(selector)
    assert "time" not in vars(loop)
    assert "run_in_executor" not in vars(loop)


async def test_only_places_in_the_test_are_named() -> None:
    loop = asyncio.get_running_loop()

    async def wait_here() -> None:
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(wait_here()) for _ in range(12)]
    await asyncio.sleep(0)
    named = waiting_tasks(loop)
    assert named.count("await asyncio.Event().wait()") == 10
    assert "more places" in named
    for task in tasks:
        task.cancel()
