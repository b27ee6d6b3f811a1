"""Chooses the rate law that a client's parameters ask for."""

from __future__ import annotations

from penstock.services.datagram.laws.improved import DelayFirstLaw
from penstock.services.datagram.laws.law import FlowLaw
from penstock.services.datagram.laws.none import NoControl
from penstock.services.datagram.laws.paper import EquationLaw
from penstock.services.datagram.parameters import DatagramParameters


def chosen_law(parameters: DatagramParameters) -> FlowLaw:
    """A law for one session, before anything was measured."""
    match parameters.law:
        case "none":
            return NoControl()
        case "paper":
            return EquationLaw()
        case "improved":
            return DelayFirstLaw()
