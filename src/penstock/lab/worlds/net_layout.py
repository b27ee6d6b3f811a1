"""Where the brokers of a scenario run in the network world, and who limits their links.

``Loopback`` puts all of them on 127.0.0.1, with the limits and cuts that the brokers' own links
have: what an operator who caps a WAN link would use.  ``lab.namespaces`` gives each of them a
network stack of its own, so that the kernel does the limiting.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from penstock.lab.scenario.model import Scenario
from penstock.net.process import free_port

LinkControl = Callable[[str, str, int, bool], Awaitable[None]]
"""Tells a broker the limit (0: none) and the cut of its link to a neighbour."""


class Layout(Protocol):
    """The ground that a scenario's brokers stand on."""

    limits_by_broker: bool
    """Whether a broker limits its links itself."""

    def open(self, scenario: Scenario) -> None:
        """Lay the ground out."""
        ...

    def address(self, broker: str) -> str:
        """Where clients find a broker."""
        ...

    def listen(self, broker: str) -> str:
        """Where a broker listens."""
        ...

    def neighbour_address(self, broker: str, other: str) -> str:
        """Where a broker finds its neighbour."""
        ...

    def command(self, broker: str, command: Sequence[str]) -> tuple[str, ...]:
        """How a broker's process is started."""
        ...

    async def set_link(
        self, pair: tuple[str, str], bandwidth: int, cut: bool, control: LinkControl
    ) -> None:
        """Bring a link into this state."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class Loopback:
    """All brokers on 127.0.0.1, each with a port of its own."""

    limits_by_broker = True

    def __init__(self) -> None:
        """No ports yet."""
        self._ports: dict[str, int] = {}

    def open(self, scenario: Scenario) -> None:
        """Choose a port for each broker."""
        self._ports = {name: free_port() for name in scenario.brokers}

    def address(self, broker: str) -> str:
        """Where clients find a broker."""
        return f"127.0.0.1:{self._ports[broker]}"

    def listen(self, broker: str) -> str:
        """Where a broker listens."""
        return self.address(broker)

    def neighbour_address(self, broker: str, other: str) -> str:
        """Where a broker finds its neighbour."""
        return self.address(other)

    def command(self, broker: str, command: Sequence[str]) -> tuple[str, ...]:
        """As it is."""
        return tuple(command)

    async def set_link(
        self, pair: tuple[str, str], bandwidth: int, cut: bool, control: LinkControl
    ) -> None:
        """Both ends are told."""
        for here, there in (pair, pair[::-1]):
            await control(here, there, bandwidth, cut)

    def close(self) -> None:
        """Nothing was made."""
