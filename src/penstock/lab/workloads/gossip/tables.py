"""The table of a gossip peer in a scenario file, and its parameters."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec

from penstock.lab.oracle.gossip.payloads import SMALLEST_PAYLOAD_BYTES
from penstock.lab.scenario.curve import Curve
from penstock.lab.scenario.model import Client, Keys, NotNegative, Scenario
from penstock.lab.service import parameters_of
from penstock.services.gossip.parameters import GossipParameters

SERVICE: Final = "gossip"


class GossipPeer(Client, frozen=True, kw_only=True):
    """A peer of a group, with the application on it."""

    rate_msgs_per_s: Curve = 0.0
    """What it offers; 0 means that it only listens."""
    payload_bytes: Annotated[int, msgspec.Meta(ge=SMALLEST_PAYLOAD_BYTES, le=65_000)] = 16
    """The size of an event."""
    buffer_events: Curve | None = None
    """Its buffer, or the steps that it follows; by default that of the parameters."""
    contacts: NotNegative = 3
    """How many members it is told if it starts after others; the first ones know a whole view."""
    stops: Literal["leave", "crash"] = "leave"
    """Whether it says goodbye when it stops, or vanishes."""
    parameters: Keys = msgspec.field(default_factory=dict)
    """Parameters of its own, which go before ``[parameters.gossip]``."""

    needs_broker: ClassVar[bool] = False

    @property
    def subjects(self) -> frozenset[str]:
        """The names by which a measurement can choose it, its own group included."""
        own_group = self.parameters.get("group", "")
        return super().subjects | ({own_group} if own_group else set())


def peers_of(scenario: Scenario) -> list[GossipPeer]:
    """All gossip peers of a scenario."""
    return [each for each in scenario.clients if isinstance(each, GossipPeer)]


def peer_parameters(client: GossipPeer, scenario: Scenario) -> GossipParameters:
    """The parameters of a peer, but for steps of its buffer; raises ``ScenarioError``."""
    return parameters_of(GossipParameters, scenario, SERVICE, client.parameters)


def group_of(client: GossipPeer, scenario: Scenario) -> str:
    """The group of a peer."""
    common = scenario.parameters.get(SERVICE, {})
    group: str = client.parameters.get("group", common.get("group", GossipParameters().group))
    return group
