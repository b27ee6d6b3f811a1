"""What a publisher gets back when its messages are on stable storage."""

from __future__ import annotations

import msgspec

from penstock.core.clock import Duration
from penstock.core.intervals import Tick
from penstock.services.guaranteed.messages import ThrottleNotice


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """One message is durable.

    ``tick`` is its place in the pubend's stream.  It is None when the receipt got lost with a
    connection and the broker, asked again, could only confirm that the message is stored.

    ``waited_ns`` is how long the pubend held it back to keep to the rate that the network allows;
    ``throttle`` is then the pubend's notice, which names the cause.
    """

    pubend: str
    tick: Tick | None
    sequence: int
    waited_ns: Duration = 0
    throttle: ThrottleNotice | None = None


class BatchReceipt(msgspec.Struct, frozen=True, gc=False):
    """``count`` messages are durable, at consecutive ticks from ``first_tick`` if it is known."""

    pubend: str
    first_tick: Tick | None
    first_sequence: int
    count: int
    waited_ns: Duration = 0
    throttle: ThrottleNotice | None = None

    def receipt(self, row: int) -> Receipt:
        """The receipt of one of them."""
        tick = None if self.first_tick is None else self.first_tick + row
        sequence = self.first_sequence + row
        return Receipt(self.pubend, tick, sequence, self.waited_ns, self.throttle)
