"""The clients of the queue service in a scenario file."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

import msgspec

from penstock.client.publishing.limits import MAX_BATCH_ROWS
from penstock.client.queues.queues import PREFETCH
from penstock.lab.scenario.curve import Curve
from penstock.lab.scenario.model import Client, NotNegative, Positive, Seconds

BatchRows = Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH_ROWS)]
Attributes: TypeAlias = dict[str, str | int | float | bool]


class QueueProducer(Client, frozen=True, kw_only=True):
    """Sends messages to a queue or an alias queue."""

    queue: str
    """A queue or an alias queue of its broker, or ``queue@broker``."""
    rate_msgs_per_s: Curve = 0.0
    """0 means as fast as ``max_in_flight`` allows."""
    messages: NotNegative = 0
    """Total number of messages; 0 means no limit."""
    batch_rows: BatchRows = 1
    """Messages that are sent together, when the last of them is due."""
    jitter_ms: Seconds = 0.0
    """Each batch is late by a random time up to this."""
    payload_bytes: NotNegative = 100
    """At least 16: a payload begins with the identity of its message."""
    attributes: Attributes = msgspec.field(default_factory=dict)
    """Constants, or texts that say how values vary, such as ``cycle:0..5``."""
    max_in_flight: NotNegative = 0
    """Messages without an outcome; 0 means no limit but the client's own."""

    ends_itself: ClassVar[bool] = True

    @property
    def address(self) -> str:
        """Where it sends, as ``queue@broker``."""
        return at_broker(self.queue, self.broker)

    @property
    def subjects(self) -> frozenset[str]:
        return super().subjects | {self.queue, self.address}


class QueueConsumer(Client, frozen=True, kw_only=True):
    """Works on the messages of a queue, one after the other."""

    queue: str
    """A queue of its broker."""
    rate_msgs_per_s: Curve = 0.0
    """How fast it works, as steps; 0 means as fast as messages arrive."""
    prefetch: Positive = PREFETCH
    """Messages that it has at most at once."""
    selector: str = ""
    """What it consumes; everything if it is empty (docs/reference/selectors.md)."""

    can_close: ClassVar[bool] = True

    @property
    def address(self) -> str:
        """The queue, as ``queue@broker``."""
        return at_broker(self.queue, self.broker)

    @property
    def subjects(self) -> frozenset[str]:
        return super().subjects | {self.queue, self.address}


def at_broker(queue: str, broker: str) -> str:
    """A queue's address; one without a broker is at this one."""
    return queue if "@" in queue else f"{queue}@{broker}"
