"""The law ``paper``: prices that follow the buffer alone, and accounts with a salary.

The arithmetic is in ``paper_price`` and ``salary``.
"""

from __future__ import annotations

from random import Random

from penstock.core.clock import Instant
from penstock.services.multicast.laws.paper_price import BufferPrice
from penstock.services.multicast.laws.salary_account import SalaryAccount
from penstock.services.multicast.parameters import MulticastParameters


class SalaryLaw:
    """The paper's law at one broker."""

    def __init__(self, parameters: MulticastParameters, random: Random) -> None:
        """``random`` is for the first paydays and the lottery."""
        self._parameters = parameters
        self._random = random

    def open_account(self, weight: float, now: Instant) -> SalaryAccount:
        return SalaryAccount(self._parameters, weight, self._random, now)

    def price_link(self, now: Instant) -> BufferPrice:
        return BufferPrice(self._parameters.paper)
