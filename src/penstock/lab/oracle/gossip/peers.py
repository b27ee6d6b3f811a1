"""What the application at each gossip peer saw: offers, publications and deliveries.

1. An application *offers* a publication to its peer, which publishes it when the group's rate
   allows, or refuses it.  A publication that falls due while others wait is not offered: it is
   *blocked* (Figure 3 of the paper).
2. A peer *has* an event from its publication if it is its own, otherwise from its delivery.  Both
   are entries of one sequence of event numbers for each peer.
3. Runs have millions of deliveries: each is one number of an array, and events that are delivered
   together share one instant.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import NEVER, Instant
from penstock.lab.oracle.gossip.payloads import payload_of
from penstock.lab.oracle.history import Instants

Integers: TypeAlias = NDArray[np.int64]

NOT_PUBLISHED: Final = -1
UNKNOWN_EVENT: Final = -1


class Publications:
    """All publications that were offered, by number."""

    def __init__(self) -> None:
        self.publisher = array("l")
        self.published_at = array("q")
        self.numbers: dict[bytes, int] = {}
        """By payload."""

    def offer(self, publisher: int, payload_bytes: int) -> tuple[int, bytes]:
        """A new publication: its number and its payload."""
        number = len(self.publisher)
        payload = payload_of(number, payload_bytes)
        self.publisher.append(publisher)
        self.published_at.append(NOT_PUBLISHED)
        self.numbers[payload] = number
        return number, payload


class Life(msgspec.Struct):
    """A peer from one start to the next stop; a peer that starts again knows nothing of before."""

    started_at: Instant
    first_entry: int
    """Where its events begin in the peer's sequence."""
    stopped_at: Instant = NEVER


class PeerHistory:
    """What the application at one peer saw."""

    def __init__(
        self, name: str, index: int, group: str, publications: Publications, remembers_events: int
    ) -> None:
        """``remembers_events`` is how many events the peer promises to recognise."""
        self.name = name
        self.index = index
        self.group = group
        self.remembers_events = remembers_events
        self.lives: list[Life] = []
        self.offered_at = array("q")
        self.blocked_at = array("q")
        self.refused_at = array("q")
        self.published_at = array("q")
        self.delivered = 0
        self.unknown: list[bytes] = []
        """Payloads that were never offered."""
        self._publications = publications
        self._abandoned = 0
        self._entries = array("q")
        self._batch_at = array("q")
        self._batch_size = array("l")

    # -- what the application tells ---------------------------------------------------------

    def start(self, *, now: Instant) -> None:
        """The peer starts, or starts again; what waited before will have no outcome."""
        self._abandoned += self.waiting
        self.lives.append(Life(now, len(self._entries)))

    def stop(self, *, now: Instant) -> None:
        """The peer is gone, unless it was already."""
        if self.present:
            self.lives[-1].stopped_at = now

    def offer(self, payload_bytes: int, *, now: Instant) -> tuple[int, bytes]:
        """Offer a publication; returns its number and its payload."""
        self.offered_at.append(now)
        return self._publications.offer(self.index, payload_bytes)

    def blocked(self, *, now: Instant) -> None:
        """A publication fell due while others waited."""
        self.offered_at.append(now)
        self.blocked_at.append(now)

    def published(self, number: int, *, now: Instant) -> None:
        """The peer broadcasts a publication."""
        self._publications.published_at[number] = now
        self.published_at.append(now)
        self._add([number], now)

    def refused(self, *, now: Instant) -> None:
        """The peer will not broadcast a publication."""
        self.refused_at.append(now)

    def received(self, payloads: Sequence[bytes], *, now: Instant) -> None:
        """Events were delivered together."""
        number_of = self._publications.numbers.get
        numbers = [number_of(payload, UNKNOWN_EVENT) for payload in payloads]
        if UNKNOWN_EVENT in numbers:
            pairs = zip(payloads, numbers, strict=True)
            self.unknown += [payload for payload, number in pairs if number == UNKNOWN_EVENT]
        self.delivered += len(numbers)
        self._add(numbers, now)

    def _add(self, numbers: list[int], now: Instant) -> None:
        self._entries.extend(numbers)
        self._batch_at.append(now)
        self._batch_size.append(len(numbers))

    # -- what is read from it ---------------------------------------------------------------

    @property
    def present(self) -> bool:
        """Whether the peer runs."""
        return bool(self.lives) and self.lives[-1].stopped_at == NEVER

    @property
    def waiting(self) -> int:
        """Publications of the present life without an outcome."""
        settled = len(self.published_at) + len(self.refused_at) + len(self.blocked_at)
        return len(self.offered_at) - settled - self._abandoned

    @property
    def numbers(self) -> Integers:
        """The events that the peer had, own ones included, in order; -1 for unknown ones."""
        return np.array(self._entries, np.int64)

    @property
    def since(self) -> Instants:
        """For each of these, the instant of its publication or delivery."""
        return np.repeat(np.array(self._batch_at, np.int64), np.array(self._batch_size, np.int64))

    @property
    def life_of(self) -> Integers:
        """For each of these, the life in which the peer had it."""
        firsts = np.array([life.first_entry for life in self.lives], np.int64)
        return np.searchsorted(firsts, np.arange(len(self._entries)), side="right")

    def was_present(self, at: Instants) -> NDArray[np.bool_]:
        """At which of these instants the peer ran."""
        found = np.zeros(len(at), np.bool_)
        for life in self.lives:
            found |= (at >= life.started_at) & (at < life.stopped_at)
        return found
