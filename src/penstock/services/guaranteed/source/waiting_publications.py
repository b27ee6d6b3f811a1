"""Publications that wait until a pubend may publish them: every publisher in turn.

1. A publisher's own publications stay in their order.
2. Publishers take turns, one publication each, so that one with a long backlog costs the others one
   publication of it and not all of them.
3. One publisher may have a quarter of the pubend's buffer waiting; its client holds less than that
   without receipts.  The rest is left for the others.
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

from penstock.core.clock import Instant
from penstock.core.machine import LinkName
from penstock.services.guaranteed.messages import Publish

SHARE: Final = 4
"""What part of the buffer one publisher may fill: twice what a client holds by default."""

Publisher: TypeAlias = tuple[LinkName, str]
"""A session, and the name of a producer on it."""


class _Backlog:
    """What one publisher has waiting."""

    __slots__ = ("entries", "weight")

    def __init__(self) -> None:
        self.entries: deque[tuple[Publish, Instant]] = deque()
        self.weight = 0


class WaitingPublications:
    """The backlogs of all publishers of one pubend."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._backlogs: dict[Publisher, _Backlog] = {}
        self._turns: deque[Publisher] = deque()
        self._count = 0
        self.weight = 0

    def __len__(self) -> int:
        """How many publications wait."""
        return self._count

    def weight_of(self, session: LinkName, producer: str) -> int:
        """Bytes that wait of one publisher."""
        backlog = self._backlogs.get((session, producer))
        return 0 if backlog is None else backlog.weight

    def add(self, session: LinkName, message: Publish, now: Instant) -> None:
        """One more waits, behind those of the same publisher."""
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
        """The publication whose turn it is, and since when it has waited."""
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
        """Nothing of a publisher waits any more."""
        backlog = self._backlogs.pop((session, producer), None)
        if backlog is not None:
            self._turns.remove((session, producer))
            self.weight -= backlog.weight
            self._count -= len(backlog.entries)
