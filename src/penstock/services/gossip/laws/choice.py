"""Chooses the rate law that a group's parameters ask for."""

from __future__ import annotations

from random import Random

from penstock.services.gossip.laws.improved import CopiesLaw
from penstock.services.gossip.laws.law import AdaptationLaw
from penstock.services.gossip.laws.none import UnlimitedLaw
from penstock.services.gossip.laws.paper import AgeLaw
from penstock.services.gossip.parameters import GossipParameters


def chosen_law(parameters: GossipParameters, random: Random) -> AdaptationLaw:
    """A law for one peer; ``random`` is for the draws of the paper's law."""
    match parameters.law:
        case "none":
            return UnlimitedLaw(parameters.adaptation)
        case "paper":
            return AgeLaw(parameters.adaptation, random)
        case "improved":
            return CopiesLaw(parameters.adaptation)
