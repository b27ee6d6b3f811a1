from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.net.broker.status import BrokerStatus, LinkStatus
from penstock.services.guaranteed.status import (
    DurableSubscriptionStatus,
    GuaranteedStatus,
    PubendStatus,
    SubscriptionStatus,
)

KINDS = (
    BrokerStatus,
    GuaranteedStatus,
    DurableSubscriptionStatus,
    LinkStatus,
    PubendStatus,
    SubscriptionStatus,
)
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "reference" / "status.md"


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_documented(kind: type[msgspec.Struct]) -> None:
    text = DOCUMENTATION.read_text()
    for name in kind.__struct_fields__:
        assert f"`{name}`" in text
