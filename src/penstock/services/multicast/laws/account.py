"""A sender's account: whether it may send now, and when to ask again.

Both laws answer the same two questions, for the price of a packet on the tree as it is known now:

1. ``buy``: may these packets go?  If so they are paid for, and the answer says what the price was.
2. ``ask_again_at``: if not, when can time alone change that?  A new price always can.

A message of several packets goes when its first packet could go, and is paid for whole: the debt
delays the next one.  So messages of any size have the same rate in bytes.
"""

from __future__ import annotations

from random import Random
from typing import Final, Protocol

from penstock.core.clock import SECOND, Duration, Instant
from penstock.services.multicast.laws.benefit import EXPONENTS, price_at, salary_factor
from penstock.services.multicast.laws.rate_ramp import doubling_ns, granted_rate, next_ramp
from penstock.services.multicast.laws.salary import next_period_ns, paid, send_probability
from penstock.services.multicast.parameters import MulticastParameters

LEAST_WEIGHT: Final = 1e-3
"""A sender that asks for less, or for nothing, gets this: a rate of nothing would never end."""

LONGEST_WAIT_NS: Final[Duration] = 10 * SECOND
"""Whoever owes more than this is asked again then; rates may have changed."""


class Account(Protocol):
    """What a sender has."""

    def buy(
        self, packets: float, price: float, round_trip_ns: Duration, now: Instant
    ) -> float | None:
        """Pay for packets at the price of their tree; what a packet paid, or None if not now."""

    def ask_again_at(self) -> Instant:
        """When ``buy`` may say yes without a new price; it said no just now."""

    def describe(self, now: Instant) -> dict[str, float | str]:
        """For people who ask what holds a sender back."""


class SalaryAccount:
    """The paper's law: see ``salary``."""

    def __init__(
        self, parameters: MulticastParameters, weight: float, random: Random, now: Instant
    ) -> None:
        """Nothing is saved, and payday is at a random time of the first period."""
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
        """Affordable packets go if the lottery says so."""
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
            # Nobody asked for long: every payday since was like this one, and savings have a cap.
            self._savings = max(self._savings, law.prohibitive_cost)
            self._payday = now
        self._payday += self._period_ns
        self._blocked = False
        self._dearest = 0.0
        self._bought_packets = 0.0

    def ask_again_at(self) -> Instant:
        """Payday, or the next draw."""
        return self._payday if self._waits_for_money else self._draw_again

    def describe(self, now: Instant) -> dict[str, float | str]:
        """Savings, and how often they grow."""
        return {
            "balance": round(self._savings, 3),
            "balance_unit": "dollars",
            "salary_period_s": self._period_ns / SECOND,
            "waits_for": "money" if self._waits_for_money else "the lottery",
        }


RATE_WEIGHT: Final = 0.1
"""What a period's rate counts in the rate that a concave benefit goes by: some ten periods."""


class PacedAccount:
    """The improved law: see ``rate_ramp``."""

    def __init__(
        self, parameters: MulticastParameters, weight: float, random: Random, now: Instant
    ) -> None:
        """The first message goes at a random time of what its bytes take at the first rate."""
        self._parameters = parameters
        self._weight = weight
        self._exponent = EXPONENTS[parameters.benefit]
        self._ramp = parameters.improved.first_rate_packets_per_s
        self._rate = self._ramp
        self._balance = 0.0
        self._first_debt = random.random()
        self._at = now
        self._period_from = now
        self._doubling_ns = doubling_ns(0, parameters.update_min_ns)
        self._used = 0.0
        self._wanted_more = False

    def buy(
        self, packets: float, price: float, round_trip_ns: Duration, now: Instant
    ) -> float | None:
        """Packets go when the rate has made room for them."""
        self._advance(price, round_trip_ns, now)
        if self._first_debt:
            # Many that begin at the same moment must not send at the same moment.
            self._balance -= self._first_debt * min(packets, 1.0)
            self._first_debt = 0.0
        if self._balance <= 0:
            self._wanted_more = True
            return None
        self._balance -= packets
        self._used += packets
        return float(price_at(self._rate, self._weight, self._exponent))

    def _advance(self, price: float, round_trip_ns: Duration, now: Instant) -> None:
        parameters, law = self._parameters, self._parameters.improved
        earned = self._rate * (now - self._at) / SECOND
        self._balance = min(self._balance + earned, law.burst_packets)
        self._at = now
        period = now - self._period_from
        self._doubling_ns = doubling_ns(round_trip_ns, parameters.update_min_ns)
        if period >= self._doubling_ns:
            self._ramp = float(
                next_ramp(
                    self._ramp,
                    granted=self._rate,
                    used=self._used * SECOND / period,
                    wanted_more=self._wanted_more,
                    periods=period // self._doubling_ns,
                    law=law,
                )
            )
            self._period_from, self._used, self._wanted_more = now, 0.0, False
        self._rate = float(granted_rate(price, self._ramp, self._weight, self._exponent))

    def ask_again_at(self) -> Instant:
        """When the rate has made room, or is raised."""
        wait_ns = (1e-9 - self._balance) / self._rate * SECOND
        room_at = self._at + min(round(wait_ns) + 1, LONGEST_WAIT_NS)
        return min(room_at, self._period_from + self._doubling_ns)

    def describe(self, now: Instant) -> dict[str, float | str]:
        """The rate, and what is left of it."""
        return {
            "balance": round(self._balance, 3),
            "balance_unit": "packets",
            "rate_packets_per_s": round(self._rate, 3),
            "waits_for": "its slow start" if self._rate >= self._ramp else "the price",
        }


def open_account(
    parameters: MulticastParameters, weight: float, random: Random, now: Instant
) -> Account:
    """A new sender's account under the law in force."""
    # Written so that a weight that is no number counts as the least.
    allowed = min(weight, parameters.highest_weight) if weight > LEAST_WEIGHT else LEAST_WEIGHT
    kind = SalaryAccount if parameters.law == "paper" else PacedAccount
    return kind(parameters, allowed, random, now)
