"""The tables of guaranteed publishers and subscribers in a scenario file."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from penstock.lab.scenario.curve import Curve
from penstock.lab.scenario.model import Client, NotNegative, Positive, Rate
from penstock.lab.workloads.message_source import Identity
from penstock.lab.workloads.pace import Pattern

BatchRows = Annotated[int, msgspec.Meta(ge=1, le=4096)]


class Publisher(Client, frozen=True, kw_only=True):
    """Publishes messages at its pace."""

    pubend: str = ""
    """By default the broker chooses one of its pubends."""
    producer: str = ""
    """The name under which it publishes; by default its own.  Two publishers that run at the same
    time under one name model a rolling restart."""
    rate_msgs_per_s: Curve = 0.0
    """0 means as fast as ``max_in_flight`` allows."""
    pattern: Pattern = "even"
    """Equal intervals, or those of a Poisson process."""
    batch_rows: BatchRows = 1
    """Messages that are published together."""
    messages: NotNegative = 0
    """Total number of messages; 0 means unlimited."""
    max_in_flight: NotNegative = 0
    """Messages without a receipt; 0 means unlimited."""
    payload_bytes: NotNegative = 100
    """At least 16: a payload begins with the identity of its message."""
    wire_bytes: NotNegative = 0
    """Size of a message on a link between brokers, in place of ``payload_bytes``."""
    attributes: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    """Constants, or texts that say how values vary, such as ``cycle:0..5``."""
    identity: Identity = "payload"
    """How a received message is recognised; "tick" is faster in long runs."""

    ends_itself: ClassVar[bool] = True

    @property
    def subjects(self) -> frozenset[str]:
        """Also its pubend."""
        return super().subjects | ({self.pubend} if self.pubend else set())


class Subscriber(Client, frozen=True, kw_only=True):
    """Reads the messages that match a selector."""

    selector: str = ""
    """What it reads; everything if it is empty (docs/reference/selectors.md)."""
    durable: bool = False
    """Whether the subscription outlives its connection."""
    start: Literal["now", "earliest"] = "now"
    """Where the subscription begins."""
    window_bytes: Positive = 4 << 20
    """Bytes in flight to the reader."""
    read_msgs_per_s: Rate = 0.0
    """How fast it reads; 0 means as fast as messages arrive."""

    @property
    def can_close(self) -> bool:
        """Closing a live subscription ends it for good."""
        return self.durable
