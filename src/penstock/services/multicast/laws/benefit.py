"""What a rate is worth to a sender, and what rate a price therefore leaves it (Section IV-A).

A sender with benefit ``f(R) = w^a · R^(1-a) / (1-a)`` gains most at the rate where the next packet
is worth its price, ``(R / w)^-a = p``, that is ``R = w · p^(-1/a)``.

1. ``concave``, the paper's √R, is a = 1/2.
2. ``throughput``, f(R) = R, is the limit a → 0, where a price below w asks for an infinite rate
   and a price above w for none.  That is no usable rate law, so a small exponent stands for it:
   with a = 1/3 a sender that crosses five congested links gets 1/125 of what a sender that crosses
   one of them gets.
3. A weight is a ratio of rates, for every a: at the same price a sender of weight w wants w times
   the rate of a sender of weight 1, as w such senders would.  Its benefit is therefore multiplied
   by w^a; a factor w would multiply the rate by w^(1/a), a thousand times for w = 10 and a = 1/3.
4. If what is received counts, n members make a benefit n times as high, so a price of p leads to
   the rate of p / n: the sender's account is asked at p / n, and its packets paid n times what the
   account says (``worth_of_a_packet``).

The functions take one sender's numbers or an array with one for each sender.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.services.multicast.laws.numbers import Numbers
from penstock.services.multicast.parameters import Benefit, BenefitCounts

EXPONENTS: Final[dict[Benefit, float]] = {"throughput": 1 / 3, "concave": 1 / 2}
"""The exponent a of each benefit function."""

LEAST_PRICE: Final = 1e-9
"""Replaces a price of zero in divisions."""

LEAST_WEIGHT: Final = 1e-3
"""A sender that asks for less gets this: with a rate of zero a message would never go."""

CONCAVE_REFERENCE_PACKETS_PER_S: Final = 100.0
"""Of the order of a sender's rate in the paper's experiments (0.8 Mbit/s)."""


def rate_at(price: Numbers, weight: Numbers, exponent: float) -> Numbers:
    """The rate in packets a second that a sender wants at this price."""
    return weight * np.maximum(price, LEAST_PRICE) ** (-1 / exponent)


def price_at(rate_packets_per_s: Numbers, weight: Numbers, exponent: float) -> Numbers:
    """The price at which a sender would want this rate."""
    return (np.maximum(rate_packets_per_s, LEAST_PRICE) / weight) ** -exponent


def salary_factor(rate_packets_per_s: Numbers, benefit: Benefit, weight: Numbers) -> Numbers:
    """The factor on a sender's salary, under the paper's law.

    The salary is the marginal benefit.  That of R is constant; that of √R falls with the rate, and
    is scaled to 1 at ``CONCAVE_REFERENCE_PACKETS_PER_S``.
    """
    if benefit == "throughput":
        return weight
    rate = np.maximum(rate_packets_per_s, 1.0)
    return weight * np.sqrt(CONCAVE_REFERENCE_PACKETS_PER_S / rate)


def worth_of_a_packet(counts: BenefitCounts, receivers: int) -> float:
    """The factor on the benefit of a packet for so many members."""
    return float(max(receivers, 1)) if counts == "received" else 1.0


def allowed_weight(weight: float, highest: float) -> float:
    """The weight that a sender gets if it asks for this one."""
    # NaN compares false with everything, so it counts as the least weight.
    return min(weight, highest) if weight > LEAST_WEIGHT else LEAST_WEIGHT
