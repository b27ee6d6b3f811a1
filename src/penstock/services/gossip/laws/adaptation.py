"""A peer's idea of how fast it may publish: the policies, fed by what the peer sees.

This is the one place that knows which law uses which estimate.  It speaks no message but the
header's numbers, and knows no event but by its identifier and age.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from penstock.services.gossip.events.receipts import ReceiptEstimate
from penstock.services.gossip.laws.averages import initial_average_age, moving_average
from penstock.services.gossip.laws.gossiped_mean import GossipedMean
from penstock.services.gossip.laws.improved_law import (
    COPIES_WEIGHT,
    LARGEST_CORRECTION,
    USED_WEIGHT,
    copies_for_each_event,
    copies_target,
    improved_rate,
    is_held_back,
    observed_yield,
)
from penstock.services.gossip.laws.minimum_buffer import MinimumBufferEstimate
from penstock.services.gossip.laws.paper_law import paper_rate
from penstock.services.gossip.membership.group_size import GroupSizeEstimate, age_marks
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import GossipParameters

NO_DROPS = 0.1
"""A single drop counts for eight rounds: 0.75 to the eighth power is a tenth."""


class Adaptation:
    """All that one sender estimates, and the rate that follows."""

    def __init__(
        self, parameters: GossipParameters, origin: int, *, size_random: Random, draw_random: Random
    ) -> None:
        """Nothing is known of the group but oneself."""
        adaptation = parameters.adaptation
        self._law = parameters.law
        self._parameters = adaptation
        self._draw_random = draw_random
        self._rounds = 0
        self.rate_msgs_per_s = adaptation.initial_rate_msgs_per_s
        self.minimum_buffer = MinimumBufferEstimate(
            parameters.buffer_events,
            origin,
            rank=adaptation.poorest_rank,
            periods=adaptation.periods_kept,
            floor=adaptation.smallest_believed_buffer,
        )
        self.group_size = GroupSizeEstimate(size_random)
        self.low_age_mark = adaptation.low_age_mark
        self.high_age_mark = adaptation.high_age_mark
        self.average_age = initial_average_age(self.low_age_mark, self.high_age_mark)
        self.average_tokens = adaptation.bucket_tokens / 2
        self.used_rate_msgs_per_s = 0.0
        self.copy_yield = 1.0
        self._copies = 0.0
        self._new_events = 0.0
        self._drops = 0.0
        self._fanout = parameters.fanout
        self.reaches_everybody = False
        """Whether each gossip goes to all members and no buffer drops anything: nothing to steer
        by copies, of which there cannot be as many as a large group needs."""
        self.receipts = ReceiptEstimate(adaptation.receipt_target, self.copies_target)
        self.receipt = GossipedMean(adaptation.receipt_target, 1.0)
        self.mean_rate = GossipedMean(self.rate_msgs_per_s, 0.0)

    def heard(self, header: Header) -> None:
        """What another peer estimates."""
        self.minimum_buffer.heard(header.period, header.poorest)
        self.group_size.heard(header.size_period, header.size_sketch)
        if self._law == "improved":
            self.mean_rate.heard(header.mean_rate_msgs_per_s, header.mean_rate_weight)
            self.receipt.heard(header.receipt, header.receipt_weight)

    def arrived(self, copies: int, new: Sequence[Event]) -> None:
        """A gossip brought so many copies, among them these events for the first time."""
        self._copies += copies
        self._new_events += len(new)
        if self._law == "improved":
            self.receipts.arrived(event.id for event in new)

    def published(self, events: int) -> None:
        """Own events are new too: a sole sender has only the copies of its own to count."""
        self._new_events += events

    def would_drop(self, ages: Iterable[int]) -> None:
        """Events of these ages would be lost to a peer with the smallest buffer."""
        weight = self._parameters.average_weight
        for age in ages:
            self._drops += 1
            self.average_age = weight * self.average_age + (1 - weight) * age

    @property
    def copies_target(self) -> float:
        """How many copies of each event the improved law aims for."""
        return float(copies_target(self.copy_yield, self._parameters))

    @property
    def copies(self) -> float:
        """Copies received for each new event, lately; the target when nothing came."""
        if self._new_events < 1:
            return self.copies_target
        return float(copies_for_each_event(self._copies, self._new_events))

    def next_round(self, tokens: float, published_msgs_per_s: float, members: int) -> float:
        """T has passed, with so many publications a second: the rate allowed from now on.

        ``members`` is how many others are known.
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
        if self._law == "paper":
            self._by_age()
        elif self._law == "improved":
            self._by_copies()
        self._copies *= COPIES_WEIGHT
        self._new_events *= COPIES_WEIGHT
        return self.rate_msgs_per_s

    def _by_age(self) -> None:
        parameters = self._parameters
        if parameters.marks == "by size":
            low, high = age_marks(
                parameters.low_age_mark, parameters.high_age_mark, self.group_size.size
            )
            self.low_age_mark, self.high_age_mark = float(low), float(high)
        rate = paper_rate(
            self.rate_msgs_per_s,
            average_age=self.average_age,
            average_tokens=self.average_tokens,
            draw=self._draw_random.random(),
            low_age_mark=self.low_age_mark,
            high_age_mark=self.high_age_mark,
            parameters=parameters,
        )
        self.rate_msgs_per_s = float(rate)

    def _by_copies(self) -> None:
        parameters = self._parameters
        copies = self.copies
        if self.reaches_everybody:
            copies = max(copies, LARGEST_CORRECTION * self.copies_target)
        self.receipts.next_round(copies)
        self.receipt.next_round(self.receipts.share)
        held_back = is_held_back(self.average_tokens, parameters)
        self.mean_rate.next_round(self.rate_msgs_per_s if held_back else None)
        copy_yield = observed_yield(
            self.copy_yield, share=self.receipt.value, copies_then=self.receipts.copies_then
        )
        self.copy_yield = float(copy_yield)
        rate = improved_rate(
            self.rate_msgs_per_s,
            copies=copies,
            target=self.copies_target,
            average_tokens=self.average_tokens,
            used_rate_msgs_per_s=self.used_rate_msgs_per_s,
            mean_rate_msgs_per_s=self.mean_rate.value,
            parameters=parameters,
        )
        self.rate_msgs_per_s = float(rate)
