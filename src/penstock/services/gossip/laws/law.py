"""The contract of a rate law: what a peer tells it, and what it decides.

1. A peer measures the same quantities under every law (``adaptation``).  Once in a round it passes
   them to its law as ``Measures`` and gets the rate that it may publish at until the next round.
2. A law's own state is visible as its ``Steering``: the numbers that travel in the gossip header
   and that people see when they ask why.  A law that does not use one of them leaves it at its
   initial value (``initial_steering``), so the header looks the same under every law.
3. A law names the reason of the present rate as a code (``Cause``); ``why`` turns it into a
   sentence.

Each law is one class; ``choice`` is the only place that looks at the parameter ``law``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from penstock.services.gossip.laws.improved_rate import copies_target
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import AdaptationParameters


class Cause(StrEnum):
    """What decides a sender's rate at present."""

    NOT_LIMITED = "not_limited"
    RATE_NOT_USED = "rate_not_used"
    AGE_BELOW_MARKS = "age_below_marks"
    AGE_BETWEEN_MARKS = "age_between_marks"
    AGE_ABOVE_MARKS = "age_above_marks"
    REACHES_EVERYBODY = "reaches_everybody"
    TOO_FEW_COPIES = "too_few_copies"
    ENOUGH_COPIES = "enough_copies"
    SPARE_COPIES = "spare_copies"


class Measures(msgspec.Struct, frozen=True, gc=False):
    """What a sender has measured when a round ends."""

    rate_msgs_per_s: float
    """The rate allowed until now."""
    used_rate_msgs_per_s: float
    average_tokens: float
    average_age: float
    copies: float
    """Copies received for each new event."""
    reaches_everybody: bool
    """Whether each gossip goes to all members and no buffer drops anything."""
    group_size: float


class Steering(msgspec.Struct, frozen=True, gc=False):
    """The part of a law's state that other peers and people see."""

    low_age_mark: float
    high_age_mark: float
    copies_target: float
    mean_rate_msgs_per_s: float
    mean_rate_weight: float
    receipt: float
    receipt_weight: float


class AdaptationLaw(Protocol):
    """Decides how fast one peer may publish."""

    @property
    def limits_rate(self) -> bool:
        """Whether publications wait for tokens."""

    @property
    def balances_targets(self) -> bool:
        """Whether a peer gossips to its whole view in turn before it repeats a member."""

    @property
    def steering(self) -> Steering: ...

    def heard(self, header: Header) -> None:
        """Take in the estimates of another peer."""

    def arrived(self, new: Sequence[Event]) -> None:
        """Take in events that arrived for the first time."""

    def next_rate(self, measures: Measures) -> float:
        """End a round and return the rate allowed from now on."""

    def cause(self, measures: Measures) -> Cause: ...


def initial_steering(parameters: AdaptationParameters) -> Steering:
    """The values before anything was measured: no sender's rate is known, every event arrives."""
    return Steering(
        low_age_mark=parameters.low_age_mark,
        high_age_mark=parameters.high_age_mark,
        copies_target=float(copies_target(1.0, parameters)),
        mean_rate_msgs_per_s=parameters.initial_rate_msgs_per_s,
        mean_rate_weight=0.0,
        receipt=parameters.receipt_target,
        receipt_weight=1.0,
    )
