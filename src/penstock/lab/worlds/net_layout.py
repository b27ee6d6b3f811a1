"""Where the brokers of a scenario run in the network world, and what limits their links.

``Loopback`` runs all of them on 127.0.0.1, with the limits and cuts of the brokers' own links, as
an operator would use them to cap a WAN link.  ``worlds.namespaces`` gives each broker a network
stack of its own, so that the kernel limits the links.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from penstock.lab.scenario.model import Scenario
from penstock.net.process import free_port

LinkControl = Callable[[str, str, int, bool], Awaitable[None]]
"""Tells a broker the limit (0: none) and the cut of its link to a neighbour."""


class Layout(Protocol):
    """The network that a scenario's brokers run on."""

    limits_by_broker: bool
    """Whether a broker limits its links itself."""

    def open(self, scenario: Scenario) -> None:
        """Create the network."""
        ...

    def address(self, broker: str) -> str:
        """The broker's address for clients."""
        ...

    def listen(self, broker: str) -> str:
        """The address that a broker listens on."""
        ...

    def neighbour_address(self, broker: str, other: str) -> str:
        """A neighbour's address for a broker."""
        ...

    def command(self, broker: str, command: Sequence[str]) -> tuple[str, ...]:
        """The command that starts a broker's process."""
        ...

    async def set_link(
        self, pair: tuple[str, str], bandwidth: int, cut: bool, control: LinkControl
    ) -> None:
        """Set the state of a link."""
        ...

    def close(self) -> None:
        """Remove the network."""
        ...


class Loopback:
    """All brokers on 127.0.0.1, each on its own port."""

    limits_by_broker = True

    def __init__(self) -> None:
        self._ports: dict[str, int] = {}

    def open(self, scenario: Scenario) -> None:
        """Choose a port for each broker."""
        self._ports = {each.name: free_port() for each in scenario.brokers}

    def address(self, broker: str) -> str:
        return f"127.0.0.1:{self._ports[broker]}"

    def listen(self, broker: str) -> str:
        return self.address(broker)

    def neighbour_address(self, broker: str, other: str) -> str:
        return self.address(other)

    def command(self, broker: str, command: Sequence[str]) -> tuple[str, ...]:
        """The command unchanged."""
        return tuple(command)

    async def set_link(
        self, pair: tuple[str, str], bandwidth: int, cut: bool, control: LinkControl
    ) -> None:
        """Tell both ends."""
        for here, there in (pair, pair[::-1]):
            await control(here, there, bandwidth, cut)

    def close(self) -> None:
        """Nothing to remove."""
