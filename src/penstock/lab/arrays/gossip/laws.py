"""The rate laws over all peers, with the arithmetic of the machines' laws.

One class for each law of penstock.services.gossip.laws; ``array_law`` is the only place that looks
at the parameter ``law``.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from penstock.lab.arrays.gossip.estimates import GossipedMeans
from penstock.services.gossip.events import receipts
from penstock.services.gossip.events.receipts import JUDGED_WEIGHT, MOST_EXPECTED
from penstock.services.gossip.laws.averages import moving_average
from penstock.services.gossip.laws.improved_rate import (
    copies_for_each_event,
    copies_needed,
    copies_target,
    improved_rate,
    is_held_back,
    observed_yield,
    share_reached,
)
from penstock.services.gossip.laws.paper_rate import paper_rate
from penstock.services.gossip.membership.group_size import age_marks
from penstock.services.gossip.parameters import AdaptationParameters, GossipParameters

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FIRST_JUDGED_ROUND: Final = 8
"""A machine judges no event before the first one that it received from the same origin, which
leaves most of the first rounds' burst unjudged."""


class GroupMeasures(msgspec.Struct):
    """What every peer has measured; one value for each."""

    rate_msgs_per_s: Floats
    used_rate_msgs_per_s: Floats
    average_tokens: Floats
    average_age: Floats
    copies: Floats
    """Copies received lately, with those of earlier rounds at a smaller weight."""
    new_events: Floats
    group_size: Floats


class ArrayLaw(Protocol):
    """Decides how fast each peer may publish."""

    @property
    def limits_rate(self) -> bool:
        """Whether publications wait for tokens."""

    def heard(self, receivers: Integers, senders: Integers) -> None:
        """Each receiver takes in the estimates of its sender."""

    def next_rates(self, rows: Integers, measures: GroupMeasures) -> Floats:
        """End a round of these peers; returns the rates allowed from now on."""

    def judged(self, round_number: int, received: Floats, events: int) -> None:
        """Take in the share that each peer received of the events of a round."""

    def next_round(self, measures: GroupMeasures) -> None:
        """A round of all peers has ended."""


def array_law(parameters: GossipParameters, peers: int, random: np.random.Generator) -> ArrayLaw:
    """The law that the parameters name."""
    match parameters.law:
        case "none":
            return UnlimitedArrays()
        case "paper":
            return AgeArrays(parameters.adaptation, random)
        case "improved":
            return CopiesArrays(parameters.adaptation, peers)


class UnlimitedArrays:
    """Plain lpbcast: limits nothing."""

    limits_rate = False

    def heard(self, receivers: Integers, senders: Integers) -> None:
        pass

    def next_rates(self, rows: Integers, measures: GroupMeasures) -> Floats:
        return measures.rate_msgs_per_s[rows]

    def judged(self, round_number: int, received: Floats, events: int) -> None:
        pass

    def next_round(self, measures: GroupMeasures) -> None:
        pass


class AgeArrays(UnlimitedArrays):
    """The paper's law: each sender follows the age of drops."""

    limits_rate = True

    def __init__(self, parameters: AdaptationParameters, random: np.random.Generator) -> None:
        self._parameters = parameters
        self._random = random

    def next_rates(self, rows: Integers, measures: GroupMeasures) -> Floats:
        parameters = self._parameters
        low: Any = parameters.low_age_mark
        high: Any = parameters.high_age_mark
        if parameters.marks == "by size":
            low, high = age_marks(low, high, measures.group_size[rows])
        return np.asarray(
            paper_rate(
                measures.rate_msgs_per_s[rows],
                average_age=measures.average_age[rows],
                average_tokens=measures.average_tokens[rows],
                draw=self._random.random(len(rows)),
                low_age_mark=low,
                high_age_mark=high,
                parameters=parameters,
            )
        )


class CopiesArrays:
    """The improved law: each sender follows the copies of each event, calibrated by receipts."""

    limits_rate = True

    def __init__(self, parameters: AdaptationParameters, peers: int) -> None:
        self._parameters = parameters
        self._yield: Floats = np.ones(peers)
        target = np.full(peers, float(copies_target(1.0, parameters)))
        self._expected: Floats = np.asarray(share_reached(target))
        self._expected_history = [self._expected.copy() for _ in range(receipts.SETTLE_ROUNDS)]
        self._share: Floats = np.full(peers, parameters.receipt_target)
        self._receipt = GossipedMeans(self._share.copy(), np.ones(peers))
        initial = np.full(peers, parameters.initial_rate_msgs_per_s)
        self._mean_rate = GossipedMeans(initial, np.zeros(peers))

    def heard(self, receivers: Integers, senders: Integers) -> None:
        self._receipt.heard(receivers, senders)
        self._mean_rate.heard(receivers, senders)

    def next_rates(self, rows: Integers, measures: GroupMeasures) -> Floats:
        parameters, rates = self._parameters, measures.rate_msgs_per_s[rows]
        average_tokens = measures.average_tokens[rows]
        self._receipt.next_round(rows, self._share[rows])
        held_back = is_held_back(average_tokens, parameters)
        self._mean_rate.next_round(rows, np.where(held_back, rates, np.nan))
        self._yield[rows] = observed_yield(
            self._yield[rows],
            share=self._receipt.value[rows],
            copies_then=copies_needed(np.minimum(self._expected[rows], MOST_EXPECTED)),
        )
        return np.asarray(
            improved_rate(
                rates,
                copies=self._copies(measures)[rows],
                target=copies_target(self._yield[rows], parameters),
                average_tokens=average_tokens,
                used_rate_msgs_per_s=measures.used_rate_msgs_per_s[rows],
                mean_rate_msgs_per_s=self._mean_rate.others(rows, rates),
                parameters=parameters,
            )
        )

    def _copies(self, measures: GroupMeasures) -> Floats:
        """Copies for each new event; the target where nothing new came."""
        target = copies_target(self._yield, self._parameters)
        counted = copies_for_each_event(measures.copies, measures.new_events)
        return np.where(measures.new_events < 1, target, counted)

    def judged(self, round_number: int, received: Floats, events: int) -> None:
        if round_number < FIRST_JUDGED_ROUND:
            return
        weight, count = JUDGED_WEIGHT, float(events)
        self._share = np.asarray(moving_average(self._share, received, weight, count))
        expected = self._expected_history[0]
        self._expected = np.asarray(moving_average(self._expected, expected, weight, count))

    def next_round(self, measures: GroupMeasures) -> None:
        self._expected_history.pop(0)
        self._expected_history.append(np.asarray(share_reached(self._copies(measures))))
