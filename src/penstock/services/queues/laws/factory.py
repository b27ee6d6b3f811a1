"""Chooses the balancing law of an alias queue; no other module looks at ``law``."""

from __future__ import annotations

from typing import Final

from penstock.services.queues.laws.fixed import FixedBalancing
from penstock.services.queues.laws.improved import ImprovedBalancing
from penstock.services.queues.laws.law import BalancingLaw
from penstock.services.queues.laws.paper import PaperBalancing
from penstock.services.queues.parameters import AliasConfig, Law

MEASURING_LAWS: Final[dict[Law, type[PaperBalancing] | type[ImprovedBalancing]]] = {
    "paper": PaperBalancing,
    "improved": ImprovedBalancing,
}


def balancing_law(config: AliasConfig) -> BalancingLaw:
    """The law that an alias queue's configuration asks for."""
    measuring = MEASURING_LAWS[config.law](config)
    if config.balancing == "flow-control":
        return measuring
    weights = config.weights if config.balancing == "weighted" else {}
    return FixedBalancing(weights, measuring.first_period_ns)
