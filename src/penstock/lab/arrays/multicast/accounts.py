"""The accounts of all senders under one law, as arrays.

The arithmetic is that of the brokers' own policies, which take arrays as well as numbers.  Senders
act in steps of ``STEP_S``, and always want to send more.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import SECOND, seconds
from penstock.services.multicast.laws.benefit import EXPONENTS, price_at
from penstock.services.multicast.laws.rate_ramp import doubling_ns, granted_rate, next_ramp
from penstock.services.multicast.laws.salary import next_period_ns, paid, send_probability
from penstock.services.multicast.parameters import MulticastParameters

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Senders: TypeAlias = NDArray[np.int64]

STEP_S: Final = 0.001


class Accounts(Protocol):
    """What the senders may send."""

    def start(self, sender: int, now_s: float) -> None:
        """A sender begins."""
        ...

    def step(self, price: Floats, active: Flags, now_s: float) -> Senders:
        """The senders of this step, once for each packet."""
        ...

    def price_changed(self, price: Floats) -> None:
        """The price of some senders' trees has changed."""
        ...

    def paid_by(self, sender: int) -> float:
        """The price that a packet of a sender carries."""
        ...


class PacedAccounts:
    """The improved law: rates that follow prices, and a slow start."""

    def __init__(
        self,
        parameters: MulticastParameters,
        weight: Floats,
        round_trip_s: Floats,
        random: np.random.Generator,
    ) -> None:
        number = len(weight)
        self._law = parameters.improved
        self._weight = weight
        self._exponent = EXPONENTS[parameters.benefit]
        self._balance: Floats = -random.random(number)
        self._ramp: Floats = np.full(number, self._law.first_rate_packets_per_s)
        self._rate: Floats = self._ramp.copy()
        self._doubling_s: Floats = np.array(
            [
                doubling_ns(seconds(each), parameters.update_min_ns) / SECOND
                for each in round_trip_s.tolist()
            ]
        )
        self._double_at_s: Floats = np.full(number, np.inf)
        self._price: Floats = np.zeros(number)

    def start(self, sender: int, now_s: float) -> None:
        self._double_at_s[sender] = now_s + self._doubling_s[sender]

    def price_changed(self, price: Floats) -> None:
        self._price = price
        self._rate = np.asarray(granted_rate(price, self._ramp, self._weight, self._exponent))

    def paid_by(self, sender: int) -> float:
        return float(price_at(self._rate[sender], self._weight[sender], self._exponent))

    def step(self, price: Floats, active: Flags, now_s: float) -> Senders:
        self._double(now_s)
        self._balance += np.where(active, self._rate * STEP_S, 0.0)
        np.minimum(self._balance, self._law.burst_packets, out=self._balance)
        senders: list[Senders] = []
        ready = np.flatnonzero((self._balance > 0) & active)
        while len(ready):
            senders.append(ready)
            self._balance[ready] -= 1
            ready = ready[self._balance[ready] > 0]
        return np.concatenate(senders) if senders else ready

    def _double(self, now_s: float) -> None:
        """Start a new ramp for senders whose doubling time has passed."""
        due = np.flatnonzero(self._double_at_s <= now_s)
        if len(due):
            self._ramp[due] = next_ramp(
                self._ramp[due],
                granted=self._rate[due],
                used=0.0,
                wanted_more=True,
                law=self._law,
            )
            self._double_at_s[due] += self._doubling_s[due]
            self.price_changed(self._price)


class SalariedAccounts:
    """The paper's law: salaries, savings, and a lottery."""

    def __init__(
        self, parameters: MulticastParameters, weight: Floats, random: np.random.Generator
    ) -> None:
        number = len(weight)
        self._law = parameters.paper
        self._update_min_ns = parameters.update_min_ns
        self._weight = weight
        self._random = random
        self._savings: Floats = np.zeros(number)
        self._period_ns: Floats = np.full(number, float(self._law.longest_period_ns))
        self._payday_s: Floats = np.full(number, np.inf)
        self._blocked: Flags = np.zeros(number, np.bool_)
        self._dearest: Floats = np.zeros(number)
        self._draw_again_s: Floats = np.zeros(number)
        self._lost_at_price: Floats = np.zeros(number)

    def start(self, sender: int, now_s: float) -> None:
        """The first payday is at a random time within the longest period."""
        period_s = self._law.longest_period_ns / SECOND
        self._payday_s[sender] = now_s + self._random.random() * period_s

    def price_changed(self, price: Floats) -> None:
        """Prices count when a packet is bought."""

    def paid_by(self, sender: int) -> float:
        """Links do not look at it under this law."""
        return 0.0

    def step(self, price: Floats, active: Flags, now_s: float) -> Senders:
        law = self._law
        due = np.flatnonzero(self._payday_s <= now_s)
        if len(due):
            self._pay(due, now_s)
        cost = law.processing_fee + price
        affordable = (self._savings >= cost) & active
        self._blocked |= ~affordable & active
        may_draw = (self._draw_again_s <= now_s) | (price != self._lost_at_price)
        ready = np.flatnonzero(affordable & may_draw)
        senders: list[Senders] = []
        while len(ready):
            if law.randomised:
                won = self._random.random(len(ready)) < send_probability(cost[ready])
                lost = ready[~won]
                self._draw_again_s[lost] = now_s + law.lottery_ns / SECOND
                self._lost_at_price[lost] = price[lost]
                ready = ready[won]
            senders.append(ready)
            self._savings[ready] -= cost[ready]
            self._dearest[ready] = np.maximum(self._dearest[ready], cost[ready])
            left = self._savings[ready] >= cost[ready]
            self._blocked[ready[~left]] = True
            ready = ready[left]
        return np.concatenate(senders) if senders else ready

    def _pay(self, due: Senders, now_s: float) -> None:
        law = self._law
        self._period_ns[due] = next_period_ns(
            self._period_ns[due],
            blocked=self._blocked[due],
            dearest_bought=self._dearest[due],
            update_min_ns=self._update_min_ns,
            law=law,
        )
        self._savings[due] = paid(self._savings[due], law.salary * self._weight[due], law)
        self._payday_s[due] = now_s + self._period_ns[due] / SECOND
        self._blocked[due] = False
        self._dearest[due] = 0.0


def chosen_accounts(
    parameters: MulticastParameters,
    weight: Floats,
    round_trip_s: Floats,
    random: np.random.Generator,
) -> Accounts:
    """The accounts that the parameters ask for."""
    match parameters.law:
        case "paper":
            return SalariedAccounts(parameters, weight, random)
        case "improved":
            return PacedAccounts(parameters, weight, round_trip_s, random)
