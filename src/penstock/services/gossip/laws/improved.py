"""The law ``improved``: a sender follows the copies of each event, calibrated by receipts.

The rules and the arithmetic are in ``improved_rate``; this class keeps what they need from round
to round: the receipts, the two gossiped means and the yield of a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.services.gossip.events.receipts import ReceiptEstimate
from penstock.services.gossip.laws.gossiped_mean import GossipedMean
from penstock.services.gossip.laws.improved_rate import (
    HELD_UP_TO,
    LARGEST_CORRECTION,
    copies_target,
    improved_rate,
    is_held_back,
    observed_yield,
)
from penstock.services.gossip.laws.law import Cause, Measures, Steering, initial_steering
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import AdaptationParameters


class CopiesLaw:
    """The improved law for one sender."""

    limits_rate = True
    balances_targets = True

    def __init__(self, parameters: AdaptationParameters) -> None:
        self.steering = initial_steering(parameters)
        self._parameters = parameters
        self._receipts = ReceiptEstimate(parameters.receipt_target, self.steering.copies_target)
        self._receipt = GossipedMean(parameters.receipt_target, 1.0)
        self._mean_rate = GossipedMean(parameters.initial_rate_msgs_per_s, 0.0)
        self._copy_yield = 1.0

    def heard(self, header: Header) -> None:
        self._mean_rate.heard(header.mean_rate_msgs_per_s, header.mean_rate_weight)
        self._receipt.heard(header.receipt, header.receipt_weight)

    def arrived(self, new: Sequence[Event]) -> None:
        self._receipts.arrived(event.id for event in new)

    def next_rate(self, measures: Measures) -> float:
        parameters = self._parameters
        copies = measures.copies
        if measures.reaches_everybody:
            # There cannot be as many copies as a large group needs (rule 5).
            copies = max(copies, LARGEST_CORRECTION * self.steering.copies_target)
        self._receipts.next_round(copies)
        self._receipt.next_round(self._receipts.share)
        held_back = is_held_back(measures.average_tokens, parameters)
        self._mean_rate.next_round(measures.rate_msgs_per_s if held_back else None)
        copy_yield = observed_yield(
            self._copy_yield, share=self._receipt.value, copies_then=self._receipts.copies_then
        )
        self._copy_yield = float(copy_yield)
        self.steering = self._steering()
        others = self._mean_rate.others
        rate = improved_rate(
            measures.rate_msgs_per_s,
            copies=copies,
            target=self.steering.copies_target,
            average_tokens=measures.average_tokens,
            used_rate_msgs_per_s=measures.used_rate_msgs_per_s,
            mean_rate_msgs_per_s=measures.rate_msgs_per_s if others is None else others,
            parameters=parameters,
        )
        return float(rate)

    def _steering(self) -> Steering:
        return Steering(
            low_age_mark=self._parameters.low_age_mark,
            high_age_mark=self._parameters.high_age_mark,
            copies_target=float(copies_target(self._copy_yield, self._parameters)),
            mean_rate_msgs_per_s=self._mean_rate.value,
            mean_rate_weight=self._mean_rate.weight,
            receipt=self._receipt.value,
            receipt_weight=self._receipt.weight,
        )

    def cause(self, measures: Measures) -> Cause:
        if not is_held_back(measures.average_tokens, self._parameters):
            return Cause.RATE_NOT_USED
        if measures.reaches_everybody:
            return Cause.REACHES_EVERYBODY
        if measures.copies < self.steering.copies_target:
            return Cause.TOO_FEW_COPIES
        if measures.copies < HELD_UP_TO * self.steering.copies_target:
            return Cause.ENOUGH_COPIES
        return Cause.SPARE_COPIES
