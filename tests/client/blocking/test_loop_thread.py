import asyncio
import threading

import pytest

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.errors import Disconnected


async def answer() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_coroutines_and_functions_run_in_its_thread() -> None:
    thread = LoopThread("loop")
    assert thread.call(answer()) == "loop"
    assert thread.run(lambda: threading.current_thread().name) == "loop"
    done = threading.Event()
    thread.post(done.set)
    assert done.wait(20.0)
    thread.stop()


def test_after_the_end_a_call_says_so() -> None:
    thread = LoopThread("loop")
    thread.stop()
    thread.stop()
    assert thread.stopped
    with pytest.raises(Disconnected, match="connect again"):
        thread.call(answer())
