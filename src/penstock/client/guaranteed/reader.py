"""The subscribing half of the client's protocol, without input or output.

1. ``Delivery`` brings the pieces of a stream in order.  A piece that reaches below the end of the
   one before it contradicts the broker's own account and ends the connection; the ticks that a
   piece skips are silence, which the broker does not always spell out.
2. What arrived waits in a queue until the application takes it.  Taking makes room: ``Taken``
   returns the bytes exactly as the broker counted them, so never more than ``window_bytes`` (and
   one frame) wait.
3. What the application is done with moves the position (``acknowledgement``).  For a
   durable subscription the position is told to the broker, at most every 50 ms.
4. After a disconnection whatever was not taken is forgotten and asked for again.  A subscription
   that is not durable goes on where the application stopped taking.  A durable one asks from its
   position, so that the broker knows what is not acknowledged, and passes over what the
   application has taken already.  Either way the application sees every message once.  One that was
   in force says since when: pubends that it has no position on owe it everything from then on.
5. A final piece is a loss: it is raised at its place in the stream, or noted and passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import length_hint
from typing import Final

import msgspec

from penstock.client.errors import (
    DataLoss,
    Disconnected,
    PenstockError,
    ProtocolViolation,
    SubscribeRefusedError,
    UnsubscribeFailed,
)
from penstock.client.guaranteed.acknowledgement import Ledger, Piece
from penstock.client.guaranteed.message import Acknowledge, Message, MessageBatch
from penstock.client.guaranteed.start import Start
from penstock.client.life_cycle import ANNOUNCING, ReaderEvent, ReaderPhase
from penstock.client.pure_reader import PureReader
from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.intervals import IntervalSet, Tick
from penstock.core.message import Message as WireMessage
from penstock.services.guaranteed.messages import (
    Consumed,
    Delivery,
    Subscribe,
    Subscribed,
    SubscribeRefused,
    Taken,
    Unsubscribe,
    Unsubscribed,
)

ACKNOWLEDGE_INTERVAL: Final[Duration] = 50 * MILLISECOND
"""Positions, and room that is less than a quarter of the window, are told this often at most: the
broker saves positions every 100 ms, and has three quarters of the window left meanwhile."""

WINDOW_BYTES: Final = 4 << 20
"""What waits at the client at most, unless told otherwise: covers 40 ms at 100 MB/s."""

MAX_UNFINISHED: Final = 65_536
"""Messages that are handed out without being done, unless told otherwise; beyond, no more are
handed out, because their account takes memory here and a place in the log at the source."""

TAKEN_SHARE: Final = 4
"""Room is returned a quarter of the window at a time: few messages, and no stall."""

MAX_LOSSES: Final = 1000
"""How many separate lost intervals are remembered; the oldest are forgotten first."""


RECEIVING: Final = frozenset((ReaderPhase.ASKED, ReaderPhase.OPEN))
"""Phases in which room and positions are told."""

DELIVERABLE: Final = RECEIVING | {ReaderPhase.ASKED_CLOSING, ReaderPhase.CLOSING}
"""Phases in which what arrives is kept for the application."""


class ReaderOptions(msgspec.Struct, frozen=True):
    """How a subscription behaves."""

    durable: bool = False
    explicit: bool = False
    """Only what the application acknowledges is done; otherwise asking for more is enough."""

    skip_losses: bool = False
    pubends: tuple[str, ...] = ()
    """Patterns of the streams that it reads; without any, all that clients publish to."""

    window_bytes: int = WINDOW_BYTES
    max_unfinished: int = MAX_UNFINISHED


class Reader(PureReader):
    """One subscription."""

    def __init__(
        self,
        name: str,
        selector: str,
        start: Start,
        options: ReaderOptions,
    ) -> None:
        """``acknowledge_through`` may be set to have messages acknowledge in another way."""
        super().__init__()
        self.name = name
        self.selector = selector
        self.options = options
        self.lost: dict[str, IntervalSet] = {}
        self.ahead_ns: dict[str, Duration] = {}
        self.acknowledge_through: Acknowledge = self.acknowledge
        self._start = start
        self._since: Tick = 0
        self._ledgers: dict[str, Ledger] = {}
        self._arrived: dict[str, Tick] = {}
        self._queue: deque[tuple[str, Frame, int]] = deque()
        self._room_due_bytes = 0
        self._unfinished = 0
        self._current: MessageBatch | None = None
        self._current_rows: Iterator[int] | None = None
        self._told: dict[str, Tick] = {}
        self._tell_at: Instant | None = None
        self._moved = False

    # -- the application's side -------------------------------------------------------------

    def take(self) -> MessageBatch | DataLoss | None:
        """The next messages, or a loss; None if nothing may be taken at present."""
        self._finish_current()
        while self._queue and not self.is_held_back:
            pubend, frame, weight = self._queue.popleft()
            self._room_due_bytes += weight
            self._moved = True
            ledger = self._ledgers[pubend]
            piece = Piece(pubend, frame.low, frame.high, frame.ticks)
            ledger.hand(piece)
            if frame.final:
                self._note_loss(pubend, frame)
                if not self.options.skip_losses:
                    return DataLoss(self.name, pubend, frame.low, frame.high)
            elif len(frame):
                self._unfinished += len(frame)
                self._current = MessageBatch(piece, frame, self.acknowledge_through)
                self._current_rows = None
                return self._current
        if self._start.ends and self._has_all():
            self._happens(ReaderEvent.CLOSED)
        return None

    def _has_all(self) -> bool:
        """Whether the application took everything up to the ends that it asked for."""
        taken = {pubend: ledger.taken for pubend, ledger in self._ledgers.items()}
        reached = {**self._start.positions, **taken}
        return all(reached.get(pubend, -1) >= end for pubend, end in self._start.ends.items())

    def rows_of(self, batch: MessageBatch) -> Iterator[Message]:
        """The messages of the batch that was taken last; asking for the next finishes one."""
        self._current_rows = iter(range(len(batch)))
        return batch.messages(self._current_rows)

    def acknowledge(self, piece: Piece, row: int | None) -> None:
        """The application is done with one row of a piece, or with all of it."""
        if not self.options.explicit:
            return
        before = piece.unfinished_rows
        if row is None:
            piece.finish_all()
        else:
            piece.finish(row)
        self._unfinished -= before - piece.unfinished_rows
        self._moved = True

    @property
    def is_held_back(self) -> bool:
        """Whether the application must acknowledge before it gets more."""
        return self.options.explicit and self._unfinished >= self.options.max_unfinished

    @property
    def unfinished(self) -> int:
        """How many messages the application has taken and is not done with."""
        return self._unfinished

    @property
    def has_end(self) -> bool:
        """Whether it reads intervals and is over then."""
        return bool(self._start.ends)

    def positions(self) -> dict[str, Tick]:
        """For each pubend the end of what the application is done with."""
        self._note_progress()
        return {pubend: ledger.position() for pubend, ledger in self._ledgers.items()}

    def close(self, *, forget: bool = False) -> None:
        """End the subscription; ``forget`` also deletes a durable one."""
        self._happens(ReaderEvent.DELETED if forget else ReaderEvent.CLOSED)

    # -- the connection's side --------------------------------------------------------------

    def disconnected(self, reason: str = "", *, taken_over: str = "") -> None:
        """The connection has ended; what was not taken is dropped and asked for again."""
        if self.options.durable and taken_over == self.name:
            # To take it back would only make the two connections push each other out for ever.
            self.fail(Disconnected(f"{reason}; give each reader a durable name of its own"))
        super().disconnected()
        self._queue.clear()
        self._arrived.clear()
        self._room_due_bytes = 0
        self._told.clear()

    def outgoing(self, now: Instant = 0) -> list[WireMessage]:
        """What to send now, in order."""
        if self.phase in ANNOUNCING:
            return self._farewell()
        if self.phase is ReaderPhase.UNASKED:
            return [self._subscribe()]
        if self.phase not in RECEIVING:
            return []
        out: list[WireMessage] = []
        due = self._room_due_bytes
        time_to_tell = self._tell_at is None or now >= self._tell_at
        if due and (time_to_tell or due * TAKEN_SHARE >= self.options.window_bytes):
            out.append(Taken(self.name, due))
            self._room_due_bytes = 0
        if time_to_tell and (due or self._may_move):
            self._tell_at = now + ACKNOWLEDGE_INTERVAL
            if self._may_move:
                self._tell(out)
        return out

    def next_deadline(self) -> Instant | None:
        """When the room and the position should be told again."""
        if self.phase not in RECEIVING:
            return None
        return self._tell_at if self._may_move or self._room_due_bytes else None

    def received(self, message: Subscribed | SubscribeRefused | Delivery | Unsubscribed) -> None:
        """Handle a message; raises ``ProtocolViolation`` if the broker contradicts itself."""
        match message:
            case Delivery(pubend=pubend, frame=frame):
                self._deliver(pubend, frame)
            case Subscribed(positions=positions, since=since, ahead_ns=ahead_ns):
                self.ahead_ns = ahead_ns
                self._accepted(positions, since)
            case SubscribeRefused(reason=reason, uncertain=uncertain):
                refusal = SubscribeRefusedError(self.name, reason, uncertain=uncertain)
                self.fail(refusal, ReaderEvent.REFUSED)
            case Unsubscribed(problem=problem, uncertain=uncertain):
                self._happens(ReaderEvent.ENDED)
                if problem:
                    self.error = UnsubscribeFailed(self.name, problem, uncertain=uncertain)

    def fail(self, error: PenstockError, event: ReaderEvent = ReaderEvent.ENDED) -> None:
        """End the subscription with an error; what was not taken is dropped."""
        super().fail(error, event)
        self._queue.clear()

    # -- inside -----------------------------------------------------------------------------

    def _subscribe(self) -> Subscribe:
        self._happens(ReaderEvent.REQUESTED)
        start = self._start
        positions = {**start.positions, **self._resume_positions()}
        self._arrived = dict(positions)
        return Subscribe(
            self.name,
            self.selector,
            durable=self.options.durable,
            start=start.rule,
            start_time=start.time,
            positions=positions,
            window_bytes=self.options.window_bytes,
            ends=start.ends,
            pubends=self.options.pubends,
            since=self._since,
        )

    def _resume_positions(self) -> dict[str, Tick]:
        if self.options.durable:
            return self.positions()
        return {pubend: ledger.taken for pubend, ledger in self._ledgers.items()}

    def _accepted(self, positions: dict[str, Tick], since: Tick) -> None:
        self._happens(ReaderEvent.ACCEPTED)
        self._since = self._since or since
        self._moved = True
        for pubend, tick in positions.items():
            self._arrived.setdefault(pubend, tick)
            if pubend not in self._ledgers:
                self._ledgers[pubend] = Ledger(tick)

    def _deliver(self, pubend: str, frame: Frame) -> None:
        if self.phase not in DELIVERABLE:
            return
        end = self._arrived.get(pubend, frame.low)
        if frame.low < end:
            raise ProtocolViolation(
                f"subscription {self.name!r}: pubend {pubend!r} was delivered up to {end}, "
                f"then again from {frame.low}"
            )
        self._arrived[pubend] = frame.high
        weight = frame.weight
        ledger = self._ledgers.get(pubend)
        if ledger is None:
            ledger = self._ledgers[pubend] = Ledger(self._start.positions.get(pubend, frame.low))
        if frame.low < ledger.taken:
            frame = frame.slice(ledger.taken, frame.high)
        if frame.low >= frame.high:
            self._room_due_bytes += weight
        else:
            self._queue.append((pubend, frame, weight))

    def _note_loss(self, pubend: str, frame: Frame) -> None:
        lost = self.lost.setdefault(pubend, IntervalSet())
        lost.add(frame.low, frame.high)
        if len(lost) > MAX_LOSSES:
            lost.remove(*next(iter(lost)))

    def _finish_current(self) -> None:
        """Asking for more means to be done with what was taken before."""
        if self._current is not None and not self.options.explicit:
            self._unfinished -= self._current.piece.unfinished_rows
            self._current.piece.finish_all()
            self._moved = True
        self._current = None

    def _note_progress(self) -> None:
        """All rows before the one that the application looks at are done."""
        if self._current is None or self._current_rows is None or self.options.explicit:
            return
        piece = self._current.piece
        before = piece.unfinished_rows
        piece.finish_below(len(self._current) - length_hint(self._current_rows) - 1)
        self._unfinished -= before - piece.unfinished_rows

    @property
    def _may_move(self) -> bool:
        """Whether the position may be another one than the broker knows."""
        if not self.options.durable or self.phase is not ReaderPhase.OPEN:
            return False
        return self._moved or (self._current is not None and not self.options.explicit)

    def _tell(self, out: list[WireMessage]) -> None:
        self._moved = False
        positions = self.positions()
        changed = {
            pubend: tick for pubend, tick in positions.items() if self._told.get(pubend) != tick
        }
        if changed:
            self._told.update(changed)
            out.append(Consumed(self.name, changed))

    def _farewell(self) -> list[WireMessage]:
        deletes = self.phase is ReaderPhase.DELETE_UNSENT
        out: list[WireMessage] = []
        if self.phase is ReaderPhase.CLOSING and self.options.durable:
            self._tell(out)
        self._happens(ReaderEvent.ANNOUNCED)
        return [*out, Unsubscribe(self.name, deletes)]
