"""The messages that one subscriber received, grouped by publisher.

A message with an identity in its payload is recognised by that.  A message without one is
recognised by its tick, if a receipt gave its publisher that tick; if that receipt was lost with a
connection, the message cannot be identified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from penstock.core.intervals import Tick
from penstock.lab.oracle.guaranteed.history import (
    GuaranteedHistory,
    PublisherHistory,
    SubscriberHistory,
)

Numbers: TypeAlias = npt.NDArray[np.int64]


class Reception(msgspec.Struct, frozen=True, gc=False):
    """One message as a subscriber received it; a fingerprint of None is not checked."""

    number: int
    tick: Tick
    fingerprint: int | None


class Receptions:
    """The messages of one publisher in the order in which one subscriber received them."""

    def __init__(self, numbers: Numbers, ticks: Numbers, fingerprints: list[int] | None) -> None:
        """Without fingerprints, messages were recognised by their ticks."""
        self.numbers = numbers
        self.ticks = ticks
        self.fingerprints = fingerprints

    def __iter__(self) -> Iterator[Reception]:
        seen: Sequence[int | None] = self.fingerprints or [None] * len(self.numbers)
        ticks = self.ticks.tolist()
        for number, tick, each in zip(self.numbers.tolist(), ticks, seen, strict=True):
            yield Reception(number, tick, each)


class StreamPlaces:
    """The publisher of the message at each tick of one stream, according to the receipts."""

    def __init__(self, publishers: list[PublisherHistory]) -> None:
        """``publishers`` publish to the stream, and their messages carry no identity."""
        self.publishers = publishers
        known = [np.array(each.ticks, np.int64) for each in publishers]
        numbers = [np.flatnonzero(ticks) for ticks in known]
        ticks = [each[places] for each, places in zip(known, numbers, strict=True)]
        owners = [np.full(len(each), owner) for owner, each in enumerate(numbers)]
        order = np.argsort(np.concatenate(ticks), kind="stable")
        self.ticks: Numbers = np.concatenate(ticks)[order]
        self.numbers: Numbers = np.concatenate(numbers)[order]
        self.owners: Numbers = np.concatenate(owners)[order]

    def of(self, ticks: Numbers) -> list[tuple[PublisherHistory, Receptions]]:
        """Group ticks by publisher; ticks without a known publisher are left out."""
        if not len(self.ticks):
            return []
        at = np.minimum(np.searchsorted(self.ticks, ticks), len(self.ticks) - 1)
        known = self.ticks[at] == ticks
        at, ticks = at[known], ticks[known]
        found = []
        for owner, publisher in enumerate(self.publishers):
            mine = self.owners[at] == owner
            found.append((publisher, Receptions(self.numbers[at][mine], ticks[mine], None)))
        return found


def messages_by_tick(history: GuaranteedHistory) -> dict[str, StreamPlaces]:
    """The publishers of messages that are recognised by tick, by stream."""
    by_pubend: dict[str, list[PublisherHistory]] = {}
    for publisher in history.publishers.values():
        if publisher.source.spec.identity == "tick":
            by_pubend.setdefault(publisher.source.spec.pubend, []).append(publisher)
    return {pubend: StreamPlaces(publishers) for pubend, publishers in by_pubend.items()}


class Received:
    def __init__(
        self,
        subscriber: SubscriberHistory,
        by_hash: Mapping[int, PublisherHistory],
        by_tick: Mapping[str, StreamPlaces],
    ) -> None:
        """``by_hash`` holds the publishers whose messages carry their identity."""
        self.strangers: list[str] = []
        """Where a message was received that was never published."""
        self._by_publisher: dict[str, Receptions] = {}
        if subscriber.identified:
            self._sort_by_identity(subscriber, by_hash)
        else:
            self._sort_by_tick(subscriber, by_tick)

    def _sort_by_identity(
        self, subscriber: SubscriberHistory, by_hash: Mapping[int, PublisherHistory]
    ) -> None:
        sorted_rows: dict[str, list[tuple[int, Tick, int]]] = {}
        for place, tick in enumerate(subscriber.ticks):
            publisher = by_hash.get(subscriber.producers[place])
            number = subscriber.numbers[place]
            if publisher is None or not 0 <= number < len(publisher):
                pubend = subscriber.pubends[subscriber.pubend_places[place]]
                self.strangers.append(f"tick {tick} of {pubend}")
                continue
            rows = sorted_rows.setdefault(publisher.name, [])
            rows.append((number, tick, subscriber.fingerprints[place]))
        for name, rows in sorted_rows.items():
            numbers, ticks, fingerprints = zip(*rows, strict=True)
            self._by_publisher[name] = Receptions(
                _integers(numbers), _integers(ticks), list(fingerprints)
            )

    def _sort_by_tick(
        self, subscriber: SubscriberHistory, by_tick: Mapping[str, StreamPlaces]
    ) -> None:
        streams = np.array(subscriber.pubend_places)
        ticks = _integers(subscriber.ticks)
        for place, pubend in enumerate(subscriber.pubends):
            places = by_tick.get(pubend)
            if places is not None:
                for publisher, receptions in places.of(ticks[streams == place]):
                    self._by_publisher[publisher.name] = receptions

    def of(self, publisher: PublisherHistory) -> Receptions:
        """The messages of one publisher, in order."""
        nothing = Receptions(_integers(()), _integers(()), None)
        return self._by_publisher.get(publisher.name, nothing)


def _integers(values: Any) -> Numbers:
    return np.array(values, np.int64)
