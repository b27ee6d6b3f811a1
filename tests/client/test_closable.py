import logging

import pytest

from penstock.client.closable import Closable
from penstock.client.errors import PenstockError


class Faulty(Closable):
    async def close(self, *, deadline_s: float | None = None) -> None:
        raise PenstockError("the closing failed")


async def test_a_block_raises_what_closing_raises() -> None:
    with pytest.raises(PenstockError, match="the closing failed"):
        async with Faulty():
            pass


async def test_an_error_of_the_block_is_not_replaced(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(LookupError):
        async with Faulty():
            raise LookupError
    assert "closing a faulty: the closing failed" in caplog.text
