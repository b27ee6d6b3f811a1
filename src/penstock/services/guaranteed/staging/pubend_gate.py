"""The pubends of a broker as its staging sees them, which publishes like a client of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from zlib import crc32

from penstock.core.clock import Instant
from penstock.core.machine import Effect
from penstock.services.guaranteed.links import LOCAL_STAGING, is_own_stream
from penstock.services.guaranteed.messages import Publish
from penstock.services.guaranteed.source.pubend import Pubend


class StagingGate:
    """Where staged rows enter their streams, through the same gate as everybody's."""

    def __init__(self, pubends: Mapping[str, Pubend], moved: Callable[[Pubend], None]) -> None:
        """``moved`` is told when a pubend may have another deadline."""
        self._pubends = pubends
        self._moved = moved

    @property
    def ready(self) -> bool:
        """Whether every pubend knows which numbers it has stored."""
        return all(pubend.ready for pubend in self._pubends.values())

    def choose(self, sink: str, wish: str) -> str:
        """The pubend that was asked for, or always the same one for a sink; nothing if none is."""
        names = sorted(name for name in self._pubends if not is_own_stream(name))
        if wish:
            return wish if wish in names else ""
        return names[crc32(sink.encode()) % len(names)] if names else ""

    def names(self) -> str:
        """What can be asked for, for an error message."""
        return ", ".join(sorted(n for n in self._pubends if not is_own_stream(n))) or "none"

    def next_sequence(self, pubend: str, producer: str) -> int:
        """The first number of a producer that is free."""
        return self._pubends[pubend].next_sequence(producer)

    def has(self, pubend: str) -> bool:
        """Whether the pubend is still hosted here: a decision may outlive a configuration."""
        return pubend in self._pubends

    def publish(self, pubend: str, message: Publish, now: Instant, out: list[Effect]) -> None:
        """Hand a publication over; its receipt goes to the staging."""
        hosted = self._pubends[pubend]
        hosted.publish(LOCAL_STAGING, message, now, out)
        self._moved(hosted)
