from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.net.connection import Connection
from penstock.net.status import may_operate


class At:
    """A connection of which only the other end's address matters."""

    def __init__(self, address: str) -> None:
        self.peer_address = address


@pytest.mark.parametrize(
    "address", ["127.0.0.1:5", "127.9.9.9:5", "[::1]:5", "[::ffff:127.0.0.1]:5"]
)
def test_this_machine_may_operate(address: str) -> None:
    assert may_operate(cast(Connection, At(address)), admin=False)


@pytest.mark.parametrize(
    "address", ["10.0.0.1:5", "[::ffff:10.0.0.1]:5", "[2001:db8::1]:5", "unknown address", ""]
)
def test_others_may_operate_only_as_admin(address: Any) -> None:
    connection = cast(Connection, At(address))
    assert not may_operate(connection, admin=False)
    assert may_operate(connection, admin=True)
