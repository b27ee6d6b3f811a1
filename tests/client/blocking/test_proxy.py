"""Blocking classes made from asyncio ones that no service has."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import pytest

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.blocking.proxy import BlockingContext, Proxy, blocking_class, proxy_of
from penstock.client.errors import Disconnected


class Part:
    """Something that an asyncio object gives."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def number(self) -> int:
        await asyncio.sleep(0)
        return self._number


class Whole:
    """An asyncio class as a sixth service may have one."""

    title: str

    def __init__(self) -> None:
        self.title = "whole"
        self.entered = 0
        self._part = Part(7)

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self.entered = 0

    @property
    def part(self) -> Part:
        asyncio.get_running_loop()
        return self._part

    def make(self, number: int, *, twice: bool = False) -> Part:
        asyncio.get_running_loop()
        return Part(2 * number if twice else number)

    async def fail(self) -> None:
        raise LookupError("as asked")

    async def itself(self) -> Whole:
        return self

    async def __aiter__(self) -> AsyncIterator[int]:
        try:
            for number in range(3):
                yield number
        finally:
            self.title = "left"

    def running_in(self) -> threading.Thread:
        return threading.current_thread()


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    made = LoopThread("test")
    yield made
    made.stop()


@pytest.fixture
def whole(thread: LoopThread) -> Any:
    return blocking_class(Whole)(thread, Whole())


def test_coroutines_and_functions_run_in_the_loops_thread(whole: Any) -> None:
    assert whole.running_in().name == "test"
    with pytest.raises(LookupError, match="as asked"):
        whole.fail()


def test_what_is_returned_is_wrapped_if_it_can_wait(whole: Any) -> None:
    assert whole.make(3, twice=True).number() == 6
    assert whole.itself() is whole
    assert proxy_of(int) is None
    assert proxy_of(threading.Lock().__class__) is None


def test_a_property_gives_the_same_object_each_time(whole: Any) -> None:
    assert whole.part is whole.part
    assert whole.part.number() == 7
    assert whole.title == "whole"


def test_an_asynchronous_iterator_becomes_an_iterator(whole: Any) -> None:
    assert list(whole) == [0, 1, 2]
    for number in whole:
        if number == 1:
            break
    assert whole.title == "left"


def test_a_context_manager_opens_and_closes(whole: Any) -> None:
    assert isinstance(whole, BlockingContext)
    with whole as entered:
        assert entered is whole
        assert whole._asyncio.entered == 1
    assert whole._asyncio.entered == 0


def test_after_the_loop_has_ended_only_closing_works(whole: Any, thread: LoopThread) -> None:
    thread.stop()
    whole.close()
    whole.__exit__(None, None, None)
    assert whole.title == "whole"
    with pytest.raises(Disconnected, match="connect again"):
        whole.make(1)


def test_the_loops_own_thread_may_not_wait_for_itself(whole: Any, thread: LoopThread) -> None:
    told: list[object] = []

    async def call_back() -> None:
        told.append(whole.running_in().name)
        try:
            whole.fail()
        except RuntimeError as error:
            told.append(str(error))

    thread.call(call_back())
    assert told[0] == "test"
    assert "another thread" in str(told[1])


def test_a_class_without_coroutines_needs_no_proxy() -> None:
    class Plain:
        def value(self) -> int:
            return 1

    assert proxy_of(Plain) is None
    made = proxy_of(Part)
    assert made is not None
    assert issubclass(made, Proxy)
