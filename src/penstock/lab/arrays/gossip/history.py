"""What the applications of a group of arrays saw: how far every event came.

Deliveries are counted for each peer and round, so that a hundred thousand peers need little memory;
single deliveries and their delays are not known.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import Instant
from penstock.lab.arrays.gossip.event_table import SpreadEvents
from penstock.lab.oracle.gossip.history import ATOMIC_SHARE
from penstock.lab.oracle.gossip.judge import RULES
from penstock.lab.oracle.history import Events, Values
from penstock.lab.oracle.judgement import Judgement, judgement_of

NOT_KNOWN: Final = ("offered", "blocked", "refused", "delay_s")
"""Metrics of the machines' history that arrays do not have."""


class ArrayHistory:
    """The events of a group, by publisher."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.delivered = 0
        self._publisher = array("q")
        self._published_at = array("q")
        self._receivers = array("q")
        self._round_ends = array("q")
        self._delivered_by_round: list[NDArray[np.uint32]] = []

    @property
    def pending(self) -> int:
        """Nothing waits for an outcome: what is not published is not offered either."""
        return 0

    def complete(self) -> bool:
        """No single delivery has to happen."""
        return True

    def spread(self, events: SpreadEvents) -> None:
        """These events have come as far as they will."""
        self._publisher.extend(events.publishers.tolist())
        self._published_at.extend(events.published_at.tolist())
        self._receivers.extend(events.receivers.tolist())

    def delivered_in_round(self, counts: NDArray[np.uint32], *, now: Instant) -> None:
        """How many events each peer received in a round."""
        self._round_ends.append(now)
        self._delivered_by_round.append(counts)
        self.delivered += int(counts.sum())

    def judge(self) -> Judgement:
        """Every peer that has an event but its publisher received it, and received it once."""
        judgement = judgement_of(RULES)
        twice = self.delivered - sum(self._receivers) + len(self._receivers)
        if twice > 0:
            judgement.count("duplicated", "peers received more events than they have", twice)
        return judgement

    def events(self, metric: str) -> Mapping[str, Events]:
        """By publisher for what is about publications, by receiver for deliveries."""
        share = np.array(self._receivers, np.float64) / max(1, len(self.names))
        match metric:
            case "receivers":
                return self._by_publisher(share)
            case "atomic":
                return self._by_publisher((share >= ATOMIC_SHARE).astype(np.float64))
            case "published":
                return self._by_publisher(np.ones(len(share)))
            case "delivered":
                return self._deliveries()
        return {}

    def _by_publisher(self, values: Values) -> Mapping[str, Events]:
        publisher = np.array(self._publisher, np.int64)
        at = np.array(self._published_at, np.int64)
        order = np.lexsort((at, publisher))
        publisher, at, values = publisher[order], at[order], values[order]
        rows, firsts = np.unique(publisher, return_index=True)
        parts = zip(np.split(at, firsts[1:]), np.split(values, firsts[1:]), strict=True)
        pairs = zip(rows.tolist(), parts, strict=False)
        return {self.names[row]: Events(*part) for row, part in pairs}

    def _deliveries(self) -> Mapping[str, Events]:
        at = np.array(self._round_ends, np.int64)
        counts = np.array(self._delivered_by_round, np.float64).reshape(len(at), len(self.names))
        return {name: Events(at, counts[:, row]) for row, name in enumerate(self.names)}

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """What every publisher published."""
        publisher = np.array(self._publisher, np.int64)
        rows, counts = np.unique(publisher, return_counts=True)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            yield self.names[row], "published", count
