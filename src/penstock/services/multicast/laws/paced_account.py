"""A sender's account under the improved law; the rules are in ``rate_ramp``."""

from __future__ import annotations

from random import Random
from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.services.multicast.laws.benefit import EXPONENTS, price_at
from penstock.services.multicast.laws.law import WaitsFor
from penstock.services.multicast.laws.rate_ramp import doubling_ns, granted_rate, next_ramp
from penstock.services.multicast.parameters import MulticastParameters

LONGEST_WAIT_NS: Final[Duration] = 10 * SECOND
"""A sender with a larger debt is asked again after this time; its rate may have changed."""


class PacedAccount:
    """A sender under the improved law."""

    def __init__(
        self, parameters: MulticastParameters, weight: float, random: Random, now: Instant
    ) -> None:
        """The first message goes at a random time within what it takes at the first rate."""
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
        """Packets go when the balance is positive."""
        self._advance(price, round_trip_ns, now)
        if self._first_debt:
            # Senders that start at the same moment must not send at the same moment.
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
        """When the balance is positive again, or the rate may rise."""
        wait_ns = (1e-9 - self._balance) / self._rate * SECOND
        room_at = self._at + min(round(wait_ns) + 1, LONGEST_WAIT_NS)
        return min(room_at, self._period_from + self._doubling_ns)

    def describe(self, now: Instant) -> dict[str, float | str]:
        return {
            "balance": round(self._balance, 3),
            "balance_unit": "packets",
            "rate_packets_per_s": round(self._rate, 3),
            "waits_for": WaitsFor.SLOW_START if self._rate >= self._ramp else WaitsFor.PRICE,
        }
