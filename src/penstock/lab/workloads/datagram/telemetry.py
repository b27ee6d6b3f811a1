"""What a datagram publisher of a scenario measures of itself, in both worlds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord

SUBJECT: Final = "datagram"
"""As in the records of brokers."""


class PublisherState(msgspec.Struct, frozen=True):
    """The state of a publisher's control; each field is a metric."""

    flows: int
    """Flows in the publisher's table."""
    feedback_messages: int
    """Reports of subscribers, since the connection was opened."""
    waiting_messages: int
    """Messages that wait for the tokens of their flows."""


def publisher_records(name: str, state: PublisherState, now: Instant) -> Iterator[TraceRecord]:
    """One record for each quantity."""
    for metric, value in msgspec.structs.asdict(state).items():
        yield TraceRecord(now, name, SUBJECT, metric, float(value))
