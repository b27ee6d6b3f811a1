"""The law ``improved``: prices that follow what arriving packets paid, and paced accounts.

The rules and the arithmetic are in ``improved_price`` and ``rate_ramp``.
"""

from __future__ import annotations

from random import Random

from penstock.core.clock import Instant
from penstock.services.multicast.laws.benefit import EXPONENTS
from penstock.services.multicast.laws.improved_price import FeedbackPrice
from penstock.services.multicast.laws.paced_account import PacedAccount
from penstock.services.multicast.parameters import MulticastParameters


class FeedbackLaw:
    """The improved law at one broker."""

    def __init__(self, parameters: MulticastParameters, random: Random) -> None:
        """``random`` is for the time of each sender's first message."""
        self._parameters = parameters
        self._random = random

    def open_account(self, weight: float, now: Instant) -> PacedAccount:
        return PacedAccount(self._parameters, weight, self._random, now)

    def price_link(self, now: Instant) -> FeedbackPrice:
        parameters = self._parameters
        return FeedbackPrice(parameters.improved, EXPONENTS[parameters.benefit], now)
