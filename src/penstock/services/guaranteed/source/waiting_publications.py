"""Publications that wait for a pubend's admission gate: the publishers take turns.

1. A publisher's own publications stay in their order.
2. Publishers take turns, one publication each, so that a long backlog of one publisher delays the
   others by one publication of it and not by all.
3. One publisher may fill a quarter of the pubend's buffer; its client holds less than that without
   receipts.  The rest is left for the others.
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

from penstock.core.clock import Instant
from penstock.core.machine import LinkName
from penstock.services.guaranteed.messages import Publish

SHARE: Final = 4
"""One publisher may fill this part of the buffer: twice what a client holds by default."""

Publisher: TypeAlias = tuple[LinkName, str]
"""A session, and the name of a producer on it."""


class _Backlog:
    """The waiting publications of one publisher."""

    __slots__ = ("entries", "weight")

    def __init__(self) -> None:
        self.entries: deque[tuple[Publish, Instant]] = deque()
        self.weight = 0


class WaitingPublications:
    """The backlogs of all publishers of one pubend."""

    def __init__(self) -> None:
        self._backlogs: dict[Publisher, _Backlog] = {}
        self._turns: deque[Publisher] = deque()
        self._count = 0
        self.weight = 0

    def __len__(self) -> int:
        """How many publications wait."""
        return self._count

    def weight_of(self, session: LinkName, producer: str) -> int:
        """The waiting bytes of one publisher."""
        backlog = self._backlogs.get((session, producer))
        return 0 if backlog is None else backlog.weight

    def add(self, session: LinkName, message: Publish, now: Instant) -> None:
        """Append a publication to the backlog of its publisher."""
        key = (session, message.producer)
        backlog = self._backlogs.get(key)
        if backlog is None:
            backlog = self._backlogs[key] = _Backlog()
            self._turns.append(key)
        backlog.entries.append((message, now))
        backlog.weight += message.batch.wire_size
        self.weight += message.batch.wire_size
        self._count += 1

    def next(self) -> tuple[LinkName, Publish, Instant]:
        """The next publication with its session, and since when it has waited."""
        key = self._turns.popleft()
        backlog = self._backlogs[key]
        message, since = backlog.entries.popleft()
        backlog.weight -= message.batch.wire_size
        self.weight -= message.batch.wire_size
        self._count -= 1
        if backlog.entries:
            self._turns.append(key)
        else:
            del self._backlogs[key]
        return key[0], message, since

    def forget(self, session: LinkName, producer: str) -> None:
        """Drop the backlog of a publisher."""
        backlog = self._backlogs.pop((session, producer), None)
        if backlog is not None:
            self._turns.remove((session, producer))
            self.weight -= backlog.weight
            self._count -= len(backlog.entries)
