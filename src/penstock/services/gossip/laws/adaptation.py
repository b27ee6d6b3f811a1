"""What a peer measures of its group, and the rate that its law derives from that.

The measures are the same under every law (``law``): the smallest buffer, the size of the group, the
age of drops, the use of tokens, and the copies that arrive for each new event.  This module handles
no message but the header's numbers, and of an event only its identifier and age.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from penstock.services.gossip.laws.averages import initial_average_age, moving_average
from penstock.services.gossip.laws.improved_rate import (
    COPIES_WEIGHT,
    USED_WEIGHT,
    copies_for_each_event,
)
from penstock.services.gossip.laws.law import AdaptationLaw, Cause, Measures, Steering
from penstock.services.gossip.laws.minimum_buffer import MinimumBufferEstimate
from penstock.services.gossip.membership.group_size import GroupSizeEstimate
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import GossipParameters

NO_DROPS = 0.1
"""A single drop counts for eight rounds: 0.75 to the eighth power is a tenth."""


class Adaptation:
    """The estimates of one sender, and its allowed rate."""

    def __init__(
        self, parameters: GossipParameters, law: AdaptationLaw, origin: int, size_random: Random
    ) -> None:
        """``origin`` is this peer's own; ``size_random`` draws for the estimate of the size."""
        adaptation = parameters.adaptation
        self.minimum_buffer = MinimumBufferEstimate(
            parameters.buffer_events,
            origin,
            rank=adaptation.poorest_rank,
            periods=adaptation.periods_kept,
            floor=adaptation.smallest_believed_buffer,
        )
        self.group_size = GroupSizeEstimate(size_random)
        self.rate_msgs_per_s = adaptation.initial_rate_msgs_per_s
        self.average_age = initial_average_age(adaptation.low_age_mark, adaptation.high_age_mark)
        self.average_tokens = adaptation.bucket_tokens / 2
        self.used_rate_msgs_per_s = 0.0
        self.reaches_everybody = False
        """Whether each gossip goes to all members and no buffer drops anything."""
        self._law = law
        self._parameters = adaptation
        self._fanout = parameters.fanout
        self._rounds = 0
        self._copies = 0.0
        self._new_events = 0.0
        self._drops = 0.0

    def heard(self, header: Header) -> None:
        """Take in the estimates of another peer."""
        self.minimum_buffer.heard(header.period, header.poorest)
        self.group_size.heard(header.size_period, header.size_sketch)
        self._law.heard(header)

    def arrived(self, copies: int, new: Sequence[Event]) -> None:
        """Count the copies that a gossip brought, and the events among them that are new here."""
        self._copies += copies
        self._new_events += len(new)
        self._law.arrived(new)

    def published(self, events: int) -> None:
        """Count own events as new too: a sole sender receives copies only of its own."""
        self._new_events += events

    def would_drop(self, ages: Iterable[int]) -> None:
        """Count events of these ages as drops of a peer that has the smallest buffer."""
        weight = self._parameters.average_weight
        for age in ages:
            self._drops += 1
            self.average_age = weight * self.average_age + (1 - weight) * age

    def resize(self, buffer_events: int) -> None:
        """Take over the new size of this peer's own buffer."""
        self.minimum_buffer.resize(buffer_events)

    @property
    def minimum_buffer_events(self) -> int:
        """The smallest buffer in the group, as far as this peer knows."""
        return self.minimum_buffer.estimate

    @property
    def copies(self) -> float:
        """Copies received for each new event, lately; the law's target when nothing came."""
        if self._new_events < 1:
            return self.steering.copies_target
        return float(copies_for_each_event(self._copies, self._new_events))

    @property
    def steering(self) -> Steering:
        """The state of the law, for the gossip header and for people."""
        return self._law.steering

    @property
    def cause(self) -> Cause:
        """What decides the rate at present."""
        return self._law.cause(self._measures())

    def next_round(self, tokens: float, published_msgs_per_s: float, members: int) -> float:
        """End a round and return the rate allowed from now on.

        ``members`` is the number of other peers in the view.
        """
        parameters = self._parameters
        self._rounds += 1
        if self._rounds % parameters.sample_period_rounds == 0:
            self.minimum_buffer.next_period()
        self.group_size.next_round()
        average = moving_average(self.average_tokens, tokens, parameters.average_weight)
        self.average_tokens = float(average)
        used = moving_average(self.used_rate_msgs_per_s, published_msgs_per_s, USED_WEIGHT)
        self.used_rate_msgs_per_s = float(used)
        self.reaches_everybody = 0 < members <= self._fanout and self._drops < NO_DROPS
        self._drops *= COPIES_WEIGHT
        self.rate_msgs_per_s = self._law.next_rate(self._measures())
        self._copies *= COPIES_WEIGHT
        self._new_events *= COPIES_WEIGHT
        return self.rate_msgs_per_s

    def _measures(self) -> Measures:
        return Measures(
            rate_msgs_per_s=self.rate_msgs_per_s,
            used_rate_msgs_per_s=self.used_rate_msgs_per_s,
            average_tokens=self.average_tokens,
            average_age=self.average_age,
            copies=self.copies,
            reaches_everybody=self.reaches_everybody,
            group_size=self.group_size.size,
        )

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if an estimate is in an impossible state."""
        self.minimum_buffer.check_invariants()
