"""Chooses the flow-control law that a broker's parameters ask for."""

from __future__ import annotations

from random import Random

from penstock.services.multicast.laws.improved import FeedbackLaw
from penstock.services.multicast.laws.law import MulticastLaw
from penstock.services.multicast.laws.paper import SalaryLaw
from penstock.services.multicast.parameters import MulticastParameters


def chosen_law(parameters: MulticastParameters, random: Random) -> MulticastLaw:
    """The law of one broker; ``random`` is shared by the accounts of all its senders."""
    match parameters.law:
        case "paper":
            return SalaryLaw(parameters, random)
        case "improved":
            return FeedbackLaw(parameters, random)
