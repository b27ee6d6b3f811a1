"""What senders sent in a run as arrays; there are no receivers, and nothing is judged."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from penstock.core.clock import Instant
from penstock.lab.oracle.history import Events, counted
from penstock.lab.oracle.judgement import Judgement, judgement_of

COUNTED = ("sent", "submitted", "confirmed")
"""A packet is submitted, sent and confirmed at once."""


class ArrayHistory:
    """When each sender sent a packet."""

    def __init__(self, senders: Sequence[str]) -> None:
        self._names = senders
        self._at = array("q")
        self._senders = array("q")

    def sent(self, sender: int, now: Instant) -> None:
        """Count a packet."""
        self._at.append(now)
        self._senders.append(sender)

    @property
    def delivered(self) -> int:
        """Receivers are not modelled."""
        return 0

    @property
    def pending(self) -> int:
        """Packets are confirmed at once."""
        return 0

    def complete(self) -> bool:
        """Nothing can be lost."""
        return True

    def judge(self) -> Judgement:
        """No rule is applied."""
        return judgement_of(())

    def events(self, metric: str) -> Mapping[str, Events]:
        """Packets by sender; other metrics have no events."""
        if metric not in COUNTED:
            return {}
        senders, at = np.array(self._senders, np.int64), np.array(self._at, np.int64)
        order = np.argsort(senders, kind="stable")
        ends = np.searchsorted(senders[order], np.arange(len(self._names) + 1))
        return {
            name: counted(at[order[ends[number] : ends[number + 1]]])
            for number, name in enumerate(self._names)
        }

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """The number of packets of each sender."""
        for name, events in self.events("sent").items():
            yield name, "sent", len(events.at)
