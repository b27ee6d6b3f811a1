"""One held-out case: a scenario, its flows, and the phases in which it is measured.

1. A case is drawn from its seed alone; the scenario does not name a law, so both laws run the same
   one (``with_law``).
2. A phase is a time in which nothing changes.  Its window begins when the laws have had their time
   to settle, and ends with the phase.
3. The optimum of a phase is computed from its capacities, the links that each flow uses, and what
   each flow wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from penstock.lab.scenario.model import Broker, Scenario
from penstock.lab.service import overlaid
from penstock.papers.held_out.optimum import SharedFlow, alpha_fair, max_min

Law: TypeAlias = Literal["paper", "improved"]
LAWS: Final[tuple[Law, ...]] = ("paper", "improved")
NAMES: Final[Mapping[Law, str]] = {"paper": "paper's", "improved": "improved"}
"""For people."""

LAW_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "guaranteed": ("guaranteed", "congestion", "law"),
    "multicast": ("multicast", "law"),
    "datagram": ("datagram", "law"),
    "gossip": ("gossip", "law"),
}
"""Where the law of a service stands in ``parameters``; that of an alias queue is its own key."""


class CaseFlow(msgspec.Struct, frozen=True):
    """What is measured and compared with the optimum: the messages of one sending client."""

    name: str
    """The client."""
    service: str
    uses: Mapping[str, float]
    """Bytes on each link for each byte of the sender."""
    demand: float
    """What it offers, in bytes a second."""
    message_bytes: float
    weight: float = 1.0
    subject: str = ""
    """The pubend, for the guaranteed service."""
    receivers: tuple[str, ...] = ()
    """The receiving clients, all of which must get its messages."""
    moves: bool = False
    """Whether its pubend takes other links before the sources have chosen among equal paths."""

    @property
    def shared(self) -> SharedFlow:
        """As the optimum sees it."""
        return SharedFlow(self.name, self.uses, self.demand, self.weight)


class Phase(msgspec.Struct, frozen=True):
    """A time in which nothing changes, and the part of it that is measured."""

    begins_s: float
    from_s: float
    to_s: float
    capacities: Mapping[str, float]
    """Bytes a second that each link carries."""
    event: str = ""
    """What happened before it, for people."""


class Case(msgspec.Struct, frozen=True):
    """A random network with its flows."""

    seed: int
    kind: str
    """The service, or "mixture"."""
    scenario: Scenario
    flows: tuple[CaseFlow, ...]
    phases: tuple[Phase, ...]
    alpha: float | None = None
    """The exponent of the α-fair optimum; None for max-min."""
    bound_s: float = 0.0
    """For queues: the shortest time in which all messages can be consumed."""

    def optimum(self, phase: Phase) -> dict[str, float]:
        """The optimal rate of each flow in bytes a second."""
        flows = [each.shared for each in self.flows]
        if self.alpha is None:
            return max_min(phase.capacities, flows)
        return alpha_fair(phase.capacities, flows, self.alpha)

    def with_law(self, law: Law) -> Scenario:
        """The scenario under a law."""
        parameters: dict[str, Any] = dict(self.scenario.parameters)
        for service in self.scenario.services:
            if service in LAW_KEYS:
                parameters = overlaid(parameters, _nested(LAW_KEYS[service], law))
        return msgspec.structs.replace(
            self.scenario,
            name=f"{self.scenario.name}-{law}",
            parameters=parameters,
            brokers=tuple(_with_alias_law(each, law) for each in self.scenario.brokers),
        )


def _nested(path: tuple[str, ...], value: str) -> dict[str, Any]:
    first, *rest = path
    return {first: _nested(tuple(rest), value) if rest else value}


def _with_alias_law(broker: Broker, law: Law) -> Broker:
    aliases = broker.keys.get("aliases")
    if not aliases:
        return broker
    changed = {name: {**table, "law": law} for name, table in aliases.items()}
    return msgspec.structs.replace(broker, keys={**broker.keys, "aliases": changed})
