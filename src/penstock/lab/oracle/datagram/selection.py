"""Which messages of each publisher a selector selects, over whole runs.

Distinct attributes are evaluated once for each selector, as columns: a run has a million messages
and hundreds of selectors.  The evaluator is the vectorised one, which has the meaning of the
selectors' definition (``selectors/rowwise``) and is not the index that brokers use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors.parser import parse
from penstock.content.selectors.vectorised import select
from penstock.lab.oracle.datagram.participants import (
    Numbers,
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)

Mask: TypeAlias = npt.NDArray[np.bool_]

_encode = msgspec.msgpack.Encoder().encode


class MessageRows:
    """The messages of one publisher, with equal attributes brought together."""

    def __init__(self, publisher: PublisherHistory) -> None:
        self.attributes: list[dict[str, AttributeValue]] = []
        """The distinct ones, in the order in which they first occur."""
        places: dict[bytes, int] = {}
        rows = []
        for number in range(len(publisher)):
            attributes = dict(publisher.source.attributes(number))
            # The encoding distinguishes 1, 1.0 and true, as Python's equality does not.
            key = _encode(attributes)
            place = places.get(key)
            if place is None:
                place = places[key] = len(self.attributes)
                self.attributes.append(attributes)
            rows.append(place)
        self.row_of_number: Numbers = np.array(rows, np.int64)
        self._batch = Batch.from_rows([(each, b"") for each in self.attributes])

    def selected(self, selector: str) -> Mask:
        """A mask of the messages."""
        if not self.attributes:
            return np.zeros(0, np.bool_)
        selected: Mask = select(parse(selector), self._batch)[self.row_of_number]
        return selected


class Selections:
    """Wanted and received messages of all pairs of a publisher and a subscriber."""

    def __init__(self, publishers: Iterable[PublisherHistory]) -> None:
        """The publishers must not publish any more while this is used."""
        self.rows = {each.name: MessageRows(each) for each in publishers}
        self._wanted: dict[tuple[str, str], Numbers] = {}

    def wanted(self, publisher: PublisherHistory, subscriber: SubscriberHistory) -> Numbers:
        """The messages that were sent, while the subscription was in force, and match it."""
        pair = (publisher.name, subscriber.name)
        if pair not in self._wanted:
            self._wanted[pair] = self._find(publisher, subscriber)
        return self._wanted[pair]

    def _find(self, publisher: PublisherHistory, subscriber: SubscriberHistory) -> Numbers:
        sent_at = np.array(publisher.sent_at, np.int64)
        wanted: Mask = np.zeros(len(sent_at), np.bool_)
        for start, end in subscriber.periods():
            wanted |= (start <= sent_at) & (sent_at < end)
        wanted &= np.array(publisher.outcomes) == Outcome.SENT
        if wanted.any():
            wanted &= self.rows[publisher.name].selected(subscriber.selector)
        return np.flatnonzero(wanted)

    def lost(self, publisher: PublisherHistory, subscriber: SubscriberHistory) -> Numbers:
        """The wanted messages that did not arrive."""
        received = np.array(subscriber.numbers, np.int64)[self.places(publisher, subscriber)]
        return np.setdiff1d(self.wanted(publisher, subscriber), received)

    @staticmethod
    def places(publisher: PublisherHistory, subscriber: SubscriberHistory) -> Numbers:
        """Where in the subscriber's history the publisher's messages stand."""
        numbers = np.array(subscriber.numbers, np.int64)
        mine = np.array(subscriber.producers, np.uint64) == publisher.source.producer_hash
        return np.flatnonzero(mine & (numbers >= 0) & (numbers < len(publisher)))
