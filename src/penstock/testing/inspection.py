"""What a test can ask a broker without being a client of it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from penstock.content.rows.columns import AttributeValue
from penstock.core.clock import NEVER, in_seconds
from penstock.core.intervals import Tick
from penstock.services.queues.messages import QueueAnswer
from penstock.store.interface import LogStore
from penstock.testing.errors import BrokerMisused

PUBEND_LOGS: Final = "pubend/"


class PublishedMessage(msgspec.Struct, frozen=True):
    """One message of a stream, as it is stored."""

    pubend: str
    tick: Tick
    """Its place in the stream: nanoseconds since the Unix epoch, and unique in the stream."""
    attributes: dict[str, AttributeValue]
    payload: bytes

    def __getitem__(self, name: str) -> AttributeValue:
        """One of the attributes."""
        return self.attributes[name]

    @property
    def published_at(self) -> datetime:
        """The tick as a time of day, in UTC."""
        return datetime.fromtimestamp(in_seconds(self.tick), UTC)


class QueueState(msgspec.Struct, frozen=True):
    """What a queue holds."""

    name: str
    waiting: int
    """Messages that no consumer has."""
    in_flight: int
    """Messages that consumers have and did not settle."""
    consumers: int
    dead: int
    """Messages that became dead letters since the broker was started."""
    expired: int
    """Messages that outlived their time since the broker was started."""


def published_messages(store: LogStore[Any, Any], pubend: str | None) -> list[PublishedMessage]:
    """The durable messages of one stream, or of all, in the order of their ticks."""
    logs = [name for name in store.log_names() if name.startswith(PUBEND_LOGS)]
    names = [name.removeprefix(PUBEND_LOGS) for name in logs]
    if pubend is not None and pubend not in names:
        known = ", ".join(names) or "none"
        raise BrokerMisused(f"nothing was published to a pubend {pubend!r} (there are: {known})")
    found = []
    for name in names if pubend is None else [pubend]:
        for record in store.read(PUBEND_LOGS + name, 0, NEVER, sys.maxsize).records:
            frame = record.data.frame
            rows = zip(
                frame.ticks,
                frame.batch.attribute_rows(),
                frame.batch.payload_rows(),
                strict=True,
            )
            found += [PublishedMessage(name, int(tick), *row) for tick, *row in rows]
    return sorted(found, key=lambda message: message.tick)


def queue_state(answer: QueueAnswer, queue: str) -> QueueState:
    """What one queue of a broker holds, by the answer that a client would get."""
    if answer.problem:
        raise BrokerMisused(f"{answer.problem}; name it in queues=")
    document = msgspec.json.decode(answer.document)["queues"][0]
    return QueueState(
        name=queue,
        waiting=document["waiting"],
        in_flight=document.get("held", 0),
        consumers=document.get("consumers", 0),
        dead=document.get("dead_messages", 0),
        expired=document.get("expired_messages", 0),
    )
