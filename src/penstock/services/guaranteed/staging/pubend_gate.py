"""The pubends of a broker as its staging sees them: it publishes through them like a client."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect
from penstock.services.guaranteed.links import LOCAL_STAGING
from penstock.services.guaranteed.messages import Publish
from penstock.services.guaranteed.source.hosted_pubends import HostedPubends
from penstock.services.guaranteed.source.placement import open_to_clients, placed


class StagingGate:
    """Where staged rows enter their streams, through the same admission gate as all others."""

    def __init__(self, hosted: HostedPubends) -> None:
        self._hosted = hosted
        self._pubends = hosted.by_name

    @property
    def ready(self) -> bool:
        """Whether every pubend knows which numbers it has stored."""
        return all(pubend.ready for pubend in self._pubends.values())

    def choose(self, sink: str, wish: str) -> str:
        """The pubend that was asked for, or always the same one for a sink; empty if none fits."""
        return placed(self._pubends, sink, wish)

    def not_hosted(self, wish: str) -> str:
        """The sentence that refuses a pubend that is not here."""
        wanted = f"no pubend {wish!r}" if wish else "no pubend"
        names = ", ".join(open_to_clients(self._pubends)) or "none"
        return f"this broker hosts {wanted} (it hosts: {names})"

    def next_sequence(self, pubend: str, producer: str) -> int:
        """The first number of a producer that is free."""
        return self._pubends[pubend].next_sequence(producer)

    def has(self, pubend: str) -> bool:
        """Whether the pubend is still hosted here: a decision may outlive a configuration."""
        return pubend in self._pubends

    def publish(self, pubend: str, message: Publish, now: Instant, out: list[Effect]) -> None:
        """Hand a publication over; its receipt goes to the staging."""
        self._hosted.publish_to(pubend, LOCAL_STAGING, message, now, out)
