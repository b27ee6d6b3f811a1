"""What a scenario runs in; the timeline (penstock.lab.run) is the same for every world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.lab.oracle.history import History
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Client, Fault, Link, LinkChange, Scenario


class UnsupportedHere(ValueError):
    """Something in a scenario that this world cannot do; the message says where it can be done."""


class World(Protocol):
    """One run of one scenario; seconds count from its opening."""

    @property
    def scenario(self) -> Scenario:
        """The scenario, with single tables."""
        ...

    @property
    def histories(self) -> Mapping[str, History]:
        """What the applications of each service have seen so far."""
        ...

    def open(self) -> None:
        """Start the brokers that exist from the beginning, and bring up their links."""
        ...

    def run_until(self, at_s: float) -> None:
        """Advance time."""
        ...

    def start_broker(self, broker: str) -> None:
        """Start a broker that was not there at the opening."""
        ...

    def start_client(self, client: Client, stop_s: float) -> None:
        """Start a client, which ends at ``stop_s`` at the latest."""
        ...

    def stop_client(self, client: Client) -> None:
        """Stop a client for the rest of the run."""
        ...

    def change_link(self, link: Link, change: LinkChange) -> None:
        """Change the properties of a link."""
        ...

    def strike(self, fault: Fault) -> None:
        """Inject a fault."""
        ...

    def close(self) -> None:
        """Stop everything and release resources."""
        ...

    def result(self, judgements: Mapping[str, Judgement] | None) -> RunResult:
        """The result, after the world was closed.

        ``judgements`` are those of the whole histories, if they have been made already.
        """
        ...
