"""What a run as arrays takes from a scenario, and what it cannot take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.lab.arrays.multicast.accounts import Floats
from penstock.lab.arrays.multicast.routes import Routes
from penstock.lab.scenario.broker_tables import broker_tables
from penstock.lab.scenario.curve import is_zero
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Scenario
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.services.multicast.laws.benefit import worth_of_a_packet
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.settings import MulticastTable


class ArrayPlan:
    """The senders, numbered, and their routes; senders with the same groups share a route."""

    def __init__(self, scenario: Scenario) -> None:
        """Raises ``ScenarioError``."""
        senders = [each for each in scenario.clients if isinstance(each, GroupSender)]
        self.parameters = _parameters(scenario)
        self.packet_bytes = _packet_bytes(scenario, senders)
        self.names = tuple(each.name for each in senders)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        highest = self.parameters.highest_weight
        self.weights: Floats = np.array([min(each.weight, highest) for each in senders])
        receivers: dict[str, list[str]] = {}
        for member in scenario.clients:
            if isinstance(member, GroupMember):
                receivers.setdefault(member.group, []).append(member.broker)
        self.worth: Floats = np.array(
            [
                worth_of_a_packet(
                    self.parameters.benefit_counts,
                    sum(len(receivers.get(group, ())) for group in each.groups),
                )
                for each in senders
            ]
        )
        routes = Routes(scenario, receivers, self.packet_bytes)
        keys = [(each.broker, each.groups) for each in senders]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        self.routes = [routes.route(*key) for key in places]
        self.narrow = routes.narrow
        self.route_of: NDArray[np.int64] = np.array([places[key] for key in keys], np.int64)


def _parameters(scenario: Scenario) -> MulticastParameters:
    """The parameters of all brokers, which must be the same."""
    if any(each.keys for each in scenario.brokers) or any(
        each.start_s for each in scenario.brokers
    ):
        raise ScenarioError(
            f"scenario {scenario.name!r}: in arrays all brokers are the same; set keys in "
            "[parameters], and no start_s"
        )
    for table in broker_tables(scenario, scenario.brokers[0]):
        if isinstance(table, MulticastTable):
            return table.multicast
    raise AssertionError("the multicast service has a table")


def _packet_bytes(scenario: Scenario, senders: list[GroupSender]) -> int:
    """The size of all messages."""
    sizes = {each.wire_bytes for each in senders}
    if len(sizes) != 1 or 0 in sizes:
        raise ScenarioError(
            f"scenario {scenario.name!r}: arrays need senders with one and the same wire_bytes"
        )
    for each in senders:
        if not is_zero(each.rate_msgs_per_s) or each.messages:
            raise ScenarioError(
                f"clients {each.name!r}: in arrays every sender sends as much as it may; leave "
                "rate_msgs_per_s and messages out"
            )
    (size,) = sizes
    return size
