"""What a delivery service is to the broker that runs it.

A broker composes services into one machine (``overlay/node.py``).  Each service hears of the
overlay, of its own messages, of its own orders to the store, and of time; it answers with effects.
Services do not know each other.  A service overrides what concerns it; the defaults do nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed
from penstock.core.message import Message
from penstock.core.tokens import Tokens
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree
from penstock.core.why import Asker


class BrokerContext(msgspec.Struct, frozen=True):
    """Everything that a service is given when a broker starts."""

    broker: str
    settings: Any
    """The service's own settings, or None if the service has none."""

    own_streams: tuple[str, ...]
    """Streams on which the broker itself publishes."""

    tokens: Tokens
    saved: Mapping[str, bytes]
    """Small state that was found on the disk."""

    logs: Mapping[str, tuple[Tick, Tick, int]]
    """For each log on the disk: where it begins, where it ends, and its size in bytes."""

    queued_bytes: Mapping[LinkName, int]
    """How many bytes wait on each link; the broker keeps it up to date."""

    flow_bytes: Mapping[LinkName, Mapping[str, int]]
    """How much data waits on each link, by flow; the broker keeps it up to date."""

    overlay: Any
    """The link-state database of the overlay."""

    now: Instant


class ServiceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A service's keys in BROKER.toml; they stand at the top of the file."""

    @classmethod
    def hosting_nothing(cls) -> dict[str, Any]:
        """The keys that differ from their defaults at a broker that hosts nothing."""
        return {}

    def settings_for(self, broker: str) -> Any:
        """What the service's machine at this broker is told."""
        raise NotImplementedError

    def check(self, broker: str) -> None:
        """What the types alone do not say; raises ``ValueError`` with the key and what to do."""

    @property
    def fair_links(self) -> bool:
        """Whether the service wants its flows to take turns on links."""
        return False


class Service:
    """One delivery service at one broker."""

    def start(self) -> list[Effect]:
        """What must be done before anything else."""
        return []

    def announced_streams(self) -> tuple[str, ...]:
        """Streams that begin at this broker; the overlay announces them to all brokers."""
        return ()

    # -- the overlay ------------------------------------------------------------------------

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """Routes have changed: a tree for each source, the first link towards each broker."""
        return []

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """After the start, the broker knows the overlay as well as it is going to."""
        return []

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """A link to a neighbour was established."""
        return []

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """A link to a neighbour was lost."""
        return []

    def queues_measured(self, now: Instant) -> list[Effect]:
        """``BrokerContext.queued_bytes`` and ``flow_bytes`` were updated."""
        return []

    # -- messages ---------------------------------------------------------------------------

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """One of the service's own messages, from a neighbour or a client's session."""
        raise NotImplementedError

    def received_together(
        self, link: LinkName, messages: Sequence[Message], now: Instant
    ) -> list[Effect]:
        """Several messages that arrived at once; the same as one after another."""
        return [effect for each in messages for effect in self.received(link, each, now)]

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client's session has ended."""
        return []

    # -- the store --------------------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """An order to the store is durable, or failed."""
        return []

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """The store answered a read."""
        return []

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant) -> list[Effect]:
        """Do whatever is due."""
        return []

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return None

    def clock_measured(self, ahead_ns: Duration) -> None:
        """How far the broker's clock is ahead of the time of day."""

    # -- people -----------------------------------------------------------------------------

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself, for the telemetry."""
        return ()

    def status(self, now: Instant) -> Any:
        """The service's part of the broker's status: something that encodes as JSON."""
        return {}

    def why(self, name: str, asker: Asker, now: Instant) -> list[Effect] | None:
        """Answer what slows ``name`` down, now or later; None if the service does not know it."""
        return None

    def known_names(self) -> dict[str, list[str]]:
        """The names that ``why`` knows, by what they name: pubends, alias queues, senders."""
        return {}

    def problems(self, now: Instant) -> list[str]:
        """What an operator should know, in whole sentences."""
        return []

    def owns(self, session: LinkName, message: Message) -> bool:
        """Whether a request concerns only what belongs to the session that sent it."""
        return False

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the state is impossible."""
