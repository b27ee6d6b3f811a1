from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from penstock.net.connection import Connection
from penstock.net.status import (
    BrokerStatus,
    DurableSubscriptionStatus,
    LinkStatus,
    PubendStatus,
    SubscriptionStatus,
    may_operate,
)

KINDS = (
    BrokerStatus,
    DurableSubscriptionStatus,
    LinkStatus,
    PubendStatus,
    SubscriptionStatus,
)
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "reference" / "status.md"


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


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_documented(kind: type[msgspec.Struct]) -> None:
    text = DOCUMENTATION.read_text()
    for name in kind.__struct_fields__:
        assert f"`{name}`" in text
