"""What a service brings to the laboratory: its clients, its history and judge, its metrics.

The description of a service names its ``LabService`` (``ServiceDescription.scenario``).  Everything
else in ``lab`` reads the registry and names no service, so that a scenario may mix all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.core.configuration import raised_as, read_table
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, Machine
from penstock.core.trace import TraceRecord
from penstock.lab.oracle.history import History, Metric
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Client, Fault, Keys, Scenario
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.services.description import load
from penstock.services.registry import descriptions

if TYPE_CHECKING:
    from penstock.lab.worlds.world import World

Parameters = TypeVar("Parameters", bound=msgspec.Struct)


class Stage(msgspec.Struct, frozen=True):
    """What a client of a run is told of its surroundings, in either world."""

    scenario: Scenario
    seed: int
    began_at: Instant
    """The first instant of the scenario."""
    now: Instant
    stop_at: Instant
    """When the client ends, or the scenario does."""

    def second(self, now: Instant) -> float:
        """An instant as a second of the scenario."""
        return in_seconds(now - self.began_at)


class NetStage(Stage, frozen=True):
    """The surroundings of a client in the network world."""

    url: str
    """The address of its broker; empty for clients without one."""
    shared: dict[str, Any]
    """Whatever the clients of one service tell each other outside the protocol."""
    record: Callable[[TraceRecord], None]
    """Takes the telemetry of the client itself."""


class RandomPart(msgspec.Struct, frozen=True):
    """A service's part of a random scenario."""

    parameters: Keys = {}
    broker_keys: dict[str, Keys] = {}
    """Keys of single brokers, by broker."""
    clients: tuple[Any, ...] = ()
    faults: tuple[Fault, ...] = ()
    """Faults that only this service knows, beside those that happen to all of them."""


class PeerMachine(Machine, Protocol):
    """A client that needs no broker and talks to its peers over datagrams."""

    def farewell(self, *, now: Instant) -> Iterable[Effect]:
        """The peer's last effects when it stops, or none if it vanishes."""
        ...


class Application(Protocol):
    """A client in the network world: a program that uses the client library."""

    async def run(self) -> None:
        """Work until its end, or until it is cancelled."""
        ...

    def leave(self) -> None:
        """Disconnect until ``come_back``."""
        ...

    def come_back(self) -> None:
        """Go on."""
        ...


class LabService:
    """One service in the laboratory."""

    name: ClassVar[str]
    roles: ClassVar[Mapping[str, type[Client]]]
    """The tables of its clients, by role; the first role is the default if it is the only one."""
    client_parameters: ClassVar[type[msgspec.Struct] | None] = None
    """The struct of ``parameters.NAME``, where a service is configured at its clients."""
    metrics: ClassVar[Mapping[str, Metric]]
    """What is measured from its history; the first is what a run of it is about."""
    telemetry: ClassVar[frozenset[str]] = frozenset()
    """The metrics that its brokers and clients record."""
    log_prefix: ClassVar[str] = ""
    """The logs that the fault ``damage_log`` may damage; empty if none."""

    def check(self, scenario: Scenario) -> None:
        """Check what the types do not express, with single tables; raises ``ScenarioError``."""

    def implied_keys(self, scenario: Scenario) -> Keys:
        """Keys of BROKER.toml that follow from the clients, where the file does not set them."""
        return {}

    def history(self, scenario: Scenario) -> History:
        """The empty history of a run."""
        raise NotImplementedError

    def machine(self, client: Any, history: Any, stage: Stage) -> Machine:
        """A client for the simulated world; it writes into the history."""
        raise NotImplementedError

    def application(self, client: Any, history: Any, stage: NetStage) -> Application:
        """A client for the network world; it writes into the history."""
        raise NotImplementedError

    def random_part(self, random: Random, starts_s: Mapping[str, float]) -> RandomPart:
        """A random workload on these brokers, given with the seconds at which they start.

        Its history must break no rule, whatever happens to brokers, links, disks and connections.
        """
        raise NotImplementedError

    def arrays(self, scenario: Scenario, seed: int, telemetry: Telemetry) -> World:
        """A world that runs the service as arrays over all clients, without its machines.

        Raises ``ScenarioError`` if the service offers none, or not for this scenario.
        """
        raise ScenarioError(
            f"the service {self.name!r} does not run as arrays; use --world sim or --world net"
        )

    def stopped(self, client: Any, history: Any, now: Instant) -> None:
        """A client was stopped for the rest of the run."""

    def damaged(self, history: Any, log: str, interval: Interval) -> None:
        """Records of a log became unreadable; ``log`` is without the prefix."""


@cache
def lab_services() -> Mapping[str, LabService]:
    """The laboratory's part of every service, by name."""
    return {each.name: load(each.scenario)() for each in descriptions() if each.scenario}


def parameters_of(
    kind: type[Parameters], scenario: Scenario, service: str, own: Mapping[str, Any]
) -> Parameters:
    """The parameters of a client: its own go before those for all; raises ``ScenarioError``."""
    with raised_as(ScenarioError):
        return read_table(
            kind, overlaid(scenario.parameters.get(service, {}), own), f"parameters.{service}"
        )


def overlaid(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables together; where both have a value, the own one counts."""
    whole = dict(base)
    for key, value in own.items():
        before = whole.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        whole[key] = overlaid(before, value) if both else value  # type: ignore[arg-type]
    return whole
