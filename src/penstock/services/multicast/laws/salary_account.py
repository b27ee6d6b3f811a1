"""A sender's account under the paper's law; the rules are in ``salary``."""

from __future__ import annotations

from random import Random
from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.services.multicast.laws.benefit import salary_factor
from penstock.services.multicast.laws.law import WaitsFor
from penstock.services.multicast.laws.salary import next_period_ns, paid, send_probability
from penstock.services.multicast.parameters import MulticastParameters

RATE_WEIGHT: Final = 0.1
"""The weight of one period in the average rate that a concave benefit uses: about ten periods."""


class SalaryAccount:
    """A sender under the paper's law."""

    def __init__(
        self, parameters: MulticastParameters, weight: float, random: Random, now: Instant
    ) -> None:
        """The first payday is at a random time within the longest period."""
        self._parameters = parameters
        self._weight = weight
        self._random = random
        self._savings = 0.0
        self._period_ns = parameters.paper.longest_period_ns
        self._payday = now + random.randrange(self._period_ns)
        self._blocked = False
        self._dearest = 0.0
        self._bought_packets = 0.0
        self._rate = 0.0
        self._draw_again: Instant = 0
        self._lost_at_price = 0.0
        self._waits_for_money = False

    def buy(
        self, packets: float, price: float, round_trip_ns: Duration, now: Instant
    ) -> float | None:
        """Affordable packets go if the sender wins the lottery."""
        law = self._parameters.paper
        while self._payday <= now:
            self._pay(now)
        cost = law.processing_fee + price
        self._waits_for_money = self._savings < cost * min(packets, 1.0)
        if self._waits_for_money:
            self._blocked = True
            return None
        if law.randomised:
            if now < self._draw_again and price == self._lost_at_price:
                return None
            if self._random.random() >= send_probability(cost):
                self._draw_again = now + law.lottery_ns
                self._lost_at_price = price
                return None
        self._savings -= cost * packets
        self._dearest = max(self._dearest, cost)
        self._bought_packets += packets
        return cost

    def _pay(self, now: Instant) -> None:
        parameters = self._parameters
        law = parameters.paper
        rate = self._bought_packets * SECOND / self._period_ns
        self._rate += RATE_WEIGHT * (rate - self._rate)
        factor = salary_factor(self._rate, parameters.benefit, self._weight)
        self._savings = float(paid(self._savings, law.salary * factor, law))
        self._period_ns = round(
            float(
                next_period_ns(
                    self._period_ns,
                    blocked=self._blocked,
                    dearest_bought=self._dearest,
                    update_min_ns=parameters.update_min_ns,
                    law=law,
                )
            )
        )
        idle = now - self._payday > law.longest_period_ns and not self._blocked
        if idle:
            # The sender was idle: every payday since was like this one, and savings have a cap.
            self._savings = max(self._savings, law.prohibitive_cost)
            self._payday = now
        self._payday += self._period_ns
        self._blocked = False
        self._dearest = 0.0
        self._bought_packets = 0.0

    def ask_again_at(self) -> Instant:
        return self._payday if self._waits_for_money else self._draw_again

    def describe(self, now: Instant) -> dict[str, float | str]:
        return {
            "balance": round(self._savings, 3),
            "balance_unit": "dollars",
            "salary_period_s": self._period_ns / SECOND,
            "waits_for": WaitsFor.MONEY if self._waits_for_money else WaitsFor.LOTTERY,
        }
