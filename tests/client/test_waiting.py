import asyncio
import math

import pytest

from penstock.client.errors import DeadlineExceeded, PenstockError
from penstock.client.waiting import deadline


async def test_what_is_done_in_time_is_not_disturbed() -> None:
    async with deadline(60, lambda: "never"):
        await asyncio.sleep(0)
    async with deadline(math.inf, lambda: "never"):
        await asyncio.sleep(0)


async def test_the_error_says_what_was_waited_for() -> None:
    with pytest.raises(DeadlineExceeded, match=r"after 0 s: no answer from the moon") as raised:
        async with deadline(0, lambda: "no answer from the moon", accepted=True):
            await asyncio.Event().wait()
    assert raised.value.accepted
    assert isinstance(raised.value, TimeoutError)
    assert isinstance(raised.value, PenstockError)


async def test_a_timeout_of_somebody_else_goes_through() -> None:
    with pytest.raises(TimeoutError, match="theirs") as raised:
        async with deadline(60, lambda: "ours"):
            raise TimeoutError("theirs")
    assert not isinstance(raised.value, DeadlineExceeded)
