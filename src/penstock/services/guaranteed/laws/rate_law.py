"""What a rate law is: a policy that turns the alerts of edges into the limit of a pubend.

The rules of the paper's law are in ``paper_rate_law``, those of the improved law in
``improved_rate_law``; ``congestion_law`` chooses between them.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import Protocol

import msgspec

from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.core.limits import Address, CountBytes, Name, Rate, TickLimited


class Rule(Enum):
    """The rule of a law that moved a limit last: a code for programs, a sentence for people."""

    NONE = ("", "")
    PAPER_DECREASE = ("pdcc-decrease", "PDCC decrease (equation 2)")
    PAPER_REPEATED_DECREASE = ("pdcc-repeated-decrease", "PDCC repeated decrease (equation 3)")
    PAPER_INCREASE = ("pdcc-increase", "PDCC increase (equation 1)")
    MATCH = ("match", "match the slowest edge")
    SHARE = ("share", "share with a recovering edge")
    RETURN_AFTER_RECOVERY = ("return-after-recovery", "return to the rate before the recovery")
    RETURN_TO_CAPACITY = ("return-to-capacity", "return to the measured capacity")
    PROBE = ("probe", "probe for more")
    RELEASE = ("release", "release: limit no longer needed")
    FULL_LINK = ("full-link", "publish what the full link takes")

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        self.sentence = sentence


class AlertReading(msgspec.Struct, frozen=True):
    """The slowest edge of one kind (live or recovering) that an alert reports."""

    rate: Rate
    """The smoothed doubt-horizon rate, in tick seconds a second."""
    edge: Name
    """The broker that measured it."""
    latest_rate: Rate
    """The rate over the last second."""
    horizon: TickLimited
    """The doubt horizon of the edge."""
    link: Address = ""
    """The link on the way to the edge with the most queued bytes; empty if nothing is queued."""
    link_bytes: CountBytes = 0
    congested: bool = True
    """False if the edge asks for less than the network would bring: only it can go faster."""

    @property
    def is_possible(self) -> bool:
        """Whether an edge can have measured these rates; a neighbour may send any number."""
        return all(isfinite(each) and each >= 0 for each in (self.rate, self.latest_rate))


class Reading(msgspec.Struct, frozen=True):
    """The part of an alert that a rate law uses."""

    sequence: int
    nonrecovering: AlertReading | None
    recovering: AlertReading | None


class Verdict(msgspec.Struct, frozen=True):
    """The edge for which a law moved a limit: cause and bottleneck are those of this reading."""

    worst: AlertReading
    recovering: bool


def slower_edge(reading: Reading) -> Verdict | None:
    """The slower of a live and a recovering edge; the live one if both have the same rate."""
    live, recovering = reading.nonrecovering, reading.recovering
    if recovering is not None and (live is None or recovering.rate < live.rate):
        return Verdict(recovering, recovering=True)
    return None if live is None else Verdict(live, recovering=False)


class PublicationRecord(Protocol):
    """What a law asks about the stream that its pubend has published."""

    def density(self, tick: Tick) -> float:
        """Rows in a second of the stream around a tick."""
        ...

    def count_between(self, low: Tick, high: Tick) -> int:
        """Rows in ``[low, high)``."""
        ...

    def count_within(self, low: Tick, high: Tick) -> float:
        """The same for a short interval, more exactly."""
        ...


class RateLaw(Protocol):
    """Moves the limit of one pubend."""

    limit_msgs_per_s: float | None
    """None while the pubend is not limited."""
    rule: Rule
    """The rule that acted last."""
    verdict: Verdict | None
    """The edge for which the last alert moved the limit."""

    def alert(
        self, reading: Reading, *, observed: float, position: Tick, query: int, now: Instant
    ) -> bool:
        """Act on an alert; ``query`` is the number of the next query.

        True if the limit changed.
        """
        ...

    def elapse(self, *, observed: float, position: Tick, waiting: bool, now: Instant) -> bool:
        """Act on the passing of time; ``waiting`` tells whether publications wait.

        True if the limit changed.
        """
        ...
