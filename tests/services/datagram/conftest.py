"""What the tests of the datagram service share."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND, Instant
from penstock.services.datagram.messages import (
    Attribute,
    Feedback,
    FlowRequest,
    FlowTag,
    Publication,
)

NOW: Instant = 1_000 * SECOND
SUBSCRIBER = "s@far"
PUBLISHER = "p@near"


def feedback(
    selector: str,
    quota: float,
    *,
    sender: str = SUBSCRIBER,
    sent_at: Instant = NOW,
    filter_id: int = 1,
) -> Feedback:
    """A report that speaks of one filter."""
    request = FlowRequest(filter_id, selector, quota, 100.0)
    return Feedback(PUBLISHER, sender, sent_at, 0.01, SECOND // 10, (request,))


def publication(
    sequence: int,
    *,
    sent_at: Instant = NOW,
    flows: tuple[FlowTag, ...] = (),
    record: bytes = b"",
    incarnation: int = 1,
    rate: float = 100.0,
    attributes: dict[str, Attribute] | None = None,
) -> Publication:
    """A message of the publisher."""
    row = {"kind": "wanted"} if attributes is None else attributes
    return Publication(PUBLISHER, incarnation, sequence, sent_at, rate, record, flows, row, b"")


@pytest.fixture
def now() -> Instant:
    """An instant like those of a real clock."""
    return NOW
