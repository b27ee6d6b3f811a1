"""The consuming half of the client's queue protocol, without input or output.

1. The broker hands over at most ``prefetch`` messages that are not settled.  Room is granted again
   when half of it is free: smaller grants would make the broker's batches small.
2. A message is settled once: done, to be delivered again, given back, or a dead letter.
   Settlements of one turn of the loop travel together.
3. The broker is told which messages the application was given.  If the connection breaks, their
   deliveries count as failed; messages that only waited here do not count.
4. Messages belong to the connection on which they came.  When it is lost they return to the queue
   and are handed out again, perhaps to another consumer; settling one of them later has no effect.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Any, Protocol

import numpy as np

from penstock.client.errors import PenstockError
from penstock.client.life_cycle import ReaderEvent, ReaderPhase
from penstock.client.pure_reader import PureReader
from penstock.core.clock import Instant
from penstock.core.intervals import Interval
from penstock.core.limits import MOST_INTERVALS
from penstock.core.message import Message
from penstock.services.queues.messages import (
    Credit,
    Deliver,
    Given,
    Receive,
    Receiving,
    ReceivingStopped,
    Settle,
    Settled,
    StopReceiving,
)


class ReceiveRefusedError(PenstockError):
    """The broker refused the consumer of a queue, and said why."""

    def __init__(self, queue: str, reason: str) -> None:
        """``reason`` is the broker's text."""
        super().__init__(f"cannot receive from {queue!r}: {reason}")
        self.queue = queue
        self.reason = reason


class Outcome(Enum):
    """How a message was settled."""

    ACCEPTED = "done"
    FAILED = "to be delivered again; the failed delivery is counted"
    RELEASED = "given back without having been tried"
    REJECTED = "a dead letter"


class HandedOut(Protocol):
    """A batch that the application has taken."""

    positions: range | list[int]
    given: int
    told: int


class QueueReader(PureReader):
    """One consumer of one queue."""

    def __init__(self, name: str, queue: str, selector: str, prefetch: int) -> None:
        """``name`` is the consumer's on its connection."""
        super().__init__()
        self.name = name
        self.queue = queue
        self.generation = 0
        self.stale_messages = 0
        self.deliveries: deque[Deliver] = deque()
        self._selector = selector
        self._prefetch = prefetch
        self._outcomes: dict[Outcome, list[int]] = {each: [] for each in Outcome}
        self._owed_credit = 0
        self._in_hand: deque[HandedOut] = deque()
        self._given_messages = 0
        self._settled_messages = 0
        self._last_number = 0
        self._confirmed_number = 0

    # -- the application's side -------------------------------------------------------------

    def settle(self, generation: int, position: int, outcome: Outcome) -> None:
        """Settle one message."""
        if generation == self.generation:
            self._outcomes[outcome].append(position)

    def settle_all(self, generation: int, positions: list[int] | range, outcome: Outcome) -> None:
        """Settle several messages with the same outcome."""
        if generation == self.generation:
            self._outcomes[outcome].extend(positions)

    def hand_out(self, batch: HandedOut) -> None:
        """The application takes a batch, and is given its messages one by one or all at once."""
        self._in_hand.append(batch)

    @property
    def settled_up(self) -> bool:
        """Whether every settlement is durable at the broker."""
        unsent = any(self._outcomes.values())
        return not unsent and self._confirmed_number == self._last_number

    def close(self) -> None:
        """Receive no more; what was not given to the application is dropped."""
        super().close()
        self.deliveries.clear()

    # -- the connection's side --------------------------------------------------------------

    def disconnected(self, reason: str = "", *, taken_over: str = "") -> None:
        """The connection has ended; everything that came over it returns to the queue."""
        self.generation += 1
        self.deliveries.clear()
        for outcomes in self._outcomes.values():
            self.stale_messages += len(outcomes)
            outcomes.clear()
        self._in_hand.clear()
        self._given_messages = self._settled_messages = 0
        self._owed_credit = 0
        self._confirmed_number = self._last_number
        super().disconnected()

    def outgoing(self, now: Instant = 0) -> list[Message]:
        """What to send now; the time does not matter."""
        if self.phase is ReaderPhase.UNASKED:
            self._happens(ReaderEvent.REQUESTED)
            return [Receive(self.name, self.queue, self._selector, self._prefetch)]
        out: list[Message] = []
        if self.phase in (ReaderPhase.OPEN, ReaderPhase.CLOSING):
            self._settle_into(out)
            self._given_into(out)
            if self.phase is ReaderPhase.CLOSING:
                self._happens(ReaderEvent.ANNOUNCED)
                out.append(StopReceiving(self.name))
        return out

    def _settle_into(self, out: list[Message]) -> None:
        settled = {name: each for name, each in self._outcomes.items() if each}
        if not settled:
            return
        runs = {name: _runs(each) for name, each in settled.items()}
        self._outcomes = {each: [] for each in Outcome}
        for first in range(0, max(map(len, runs.values())), MOST_INTERVALS):
            part = {name: each[first : first + MOST_INTERVALS] for name, each in runs.items()}
            self._last_number += 1
            out.append(
                Settle(
                    self.name,
                    self._last_number,
                    accepted=part.get(Outcome.ACCEPTED, ()),
                    failed=part.get(Outcome.FAILED, ()),
                    released=part.get(Outcome.RELEASED, ()),
                    rejected=part.get(Outcome.REJECTED, ()),
                )
            )
        settled_messages = sum(high - low for each in runs.values() for low, high in each)
        self._settled_messages += settled_messages
        self._owed_credit += settled_messages
        if 2 * self._owed_credit >= self._prefetch and self.phase is ReaderPhase.OPEN:
            out.append(Credit(self.name, self._owed_credit))
            self._owed_credit = 0

    def _given_into(self, out: list[Message]) -> None:
        """Tell what was given since the last time, unless all of it is settled by now."""
        news: list[Interval] = []
        while self._in_hand:
            batch = self._in_hand[0]
            if batch.told < batch.given:
                self._given_messages += batch.given - batch.told
                news += _runs_of(batch.positions[batch.told : batch.given])
                batch.told = batch.given
            if batch.told < len(batch.positions):
                break
            self._in_hand.popleft()
        if self._given_messages > self._settled_messages:
            out += [
                Given(self.name, tuple(news[first : first + MOST_INTERVALS]))
                for first in range(0, len(news), MOST_INTERVALS)
            ]

    def received(self, message: Any) -> None:
        """Handle a message of the broker."""
        match message:
            case Deliver():
                if self.phase in (ReaderPhase.ASKED, ReaderPhase.OPEN):
                    self.deliveries.append(message)
            case Settled(_, number, stale):
                self._confirmed_number = number
                self.stale_messages += stale
            case Receiving(_, problem) if problem:
                self.fail(ReceiveRefusedError(self.queue, problem), ReaderEvent.REFUSED)
            case Receiving():
                self._happens(ReaderEvent.ACCEPTED)
            case ReceivingStopped():
                self._happens(ReaderEvent.ENDED)


def _runs_of(positions: range | list[int]) -> tuple[Interval, ...]:
    if isinstance(positions, range):
        return ((positions.start, positions.stop),)
    return _runs(positions)


def _runs(positions: list[int]) -> tuple[Interval, ...]:
    """Positions in any order as maximal intervals."""
    ordered = np.unique(np.array(positions, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    lows = ordered[np.concatenate(([0], breaks + 1))]
    highs = ordered[np.concatenate((breaks, [len(ordered) - 1]))] + 1
    return tuple(zip(lows.tolist(), highs.tolist(), strict=True))
