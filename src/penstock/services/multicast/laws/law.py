"""The contract of a flow-control law: how links are priced, and when senders may send.

1. A link's price follows what waits on the link and what passed over it (``LinkPrice``).
2. A sender's account decides, at the price of the sender's tree, whether its next message may go,
   and if not, when to ask again (``Account``).  A message of several packets goes when its first
   packet could go, and is paid for as a whole; the debt delays the next one.  So messages of any
   size get the same rate in bytes.

Each law is one class that makes both parts; ``choice`` is the only place that looks at the
parameter ``law``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from penstock.core.clock import Duration, Instant


class WaitsFor(StrEnum):
    """What an account that said no waits for."""

    MONEY = "money"
    LOTTERY = "lottery"
    PRICE = "price"
    SLOW_START = "slow_start"


class Account(Protocol):
    """The account of one sender."""

    def buy(
        self, packets: float, price: float, round_trip_ns: Duration, now: Instant
    ) -> float | None:
        """Pay for packets at the price of their tree; what a packet paid, or None if not now."""

    def ask_again_at(self) -> Instant:
        """When ``buy`` may succeed without a new price; called after ``buy`` returned None."""

    def describe(self, now: Instant) -> dict[str, float | str]:
        """The state of the account, for those who ask what holds a sender back."""


class LinkPrice(Protocol):
    """The price of one link of this broker; one record, whatever the number of senders."""

    def arrived(self, packets: float, paid: float, sequence: int | None, now: Instant) -> None:
        """Take in that packets were queued; ``sequence`` is the price of this link they name."""

    def issued(self, sequence: int, now: Instant) -> None:
        """Take in that the present price was announced under this number."""

    def update(self, buffered_packets: float, now: Instant) -> float:
        """Set the price by what waits now and what arrived since the last update; return it."""


class MulticastLaw(Protocol):
    """Makes the two parts that belong together."""

    def open_account(self, weight: float, now: Instant) -> Account: ...

    def price_link(self, now: Instant) -> LinkPrice: ...
