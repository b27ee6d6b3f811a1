"""The law ``paper``: a sender follows the age at which the poorest buffer would drop events.

The arithmetic is in ``paper_rate``.  With ``marks = "by size"`` the two age marks follow the
estimated size of the group (``membership.group_size``).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from penstock.services.gossip.laws.improved_rate import is_held_back
from penstock.services.gossip.laws.law import Cause, Measures, initial_steering
from penstock.services.gossip.laws.paper_rate import paper_rate
from penstock.services.gossip.membership.group_size import age_marks
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import AdaptationParameters


class AgeLaw:
    """Figure 5 (c) for one sender."""

    limits_rate = True
    balances_targets = False

    def __init__(self, parameters: AdaptationParameters, random: Random) -> None:
        """``random`` draws whether a sender may raise its rate in a round."""
        self.steering = initial_steering(parameters)
        self._parameters = parameters
        self._random = random

    def heard(self, header: Header) -> None:
        pass

    def arrived(self, new: Sequence[Event]) -> None:
        pass

    def next_rate(self, measures: Measures) -> float:
        parameters = self._parameters
        if parameters.marks == "by size":
            low, high = age_marks(
                parameters.low_age_mark, parameters.high_age_mark, measures.group_size
            )
            self.steering = msgspec.structs.replace(
                self.steering, low_age_mark=float(low), high_age_mark=float(high)
            )
        rate = paper_rate(
            measures.rate_msgs_per_s,
            average_age=measures.average_age,
            average_tokens=measures.average_tokens,
            draw=self._random.random(),
            low_age_mark=self.steering.low_age_mark,
            high_age_mark=self.steering.high_age_mark,
            parameters=parameters,
        )
        return float(rate)

    def cause(self, measures: Measures) -> Cause:
        if not is_held_back(measures.average_tokens, self._parameters):
            return Cause.RATE_NOT_USED
        if measures.average_age < self.steering.low_age_mark:
            return Cause.AGE_BELOW_MARKS
        if measures.average_age <= self.steering.high_age_mark:
            return Cause.AGE_BETWEEN_MARKS
        return Cause.AGE_ABOVE_MARKS
