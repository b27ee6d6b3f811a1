"""What a delivery service is to the broker that runs it.

A broker composes services into one machine.  Each service hears of the overlay, of its own
messages, of its own orders to the store, and of time; it answers with effects.  Services do not
know each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed
from penstock.core.message import Message
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree


class Service(Protocol):
    """One delivery service at one broker."""

    def start(self) -> list[Effect]:
        """What must be done before anything else."""
        ...

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """The overlay found other ways: a tree for each source, a first link to each broker."""
        ...

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """After its start, the broker knows the overlay as well as it is going to."""
        ...

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is there."""
        ...

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is gone."""
        ...

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """One of the service's own messages, from a neighbour or a client's session."""
        ...

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client is gone."""
        ...

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """An order to the store is durable, or failed."""
        ...

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """The store answered a read."""
        ...

    def deadline(self, now: Instant) -> list[Effect]:
        """Whatever is due."""
        ...

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        ...

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        ...

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the state is impossible."""
        ...
