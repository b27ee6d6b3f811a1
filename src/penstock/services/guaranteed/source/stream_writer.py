"""The end of a pubend's stream: assigns ticks, stores frames, and speaks of durable ones.

1. A publication takes the ticks ``max(now, end of the stream)`` and following; the frame reaches
   back to the end of the frame before it, so that the stream has no hole.
2. Everything that a pubend says of its stream is in its log first: data, and silence too.  After a
   crash it therefore never contradicts what it said.
3. Receipts and live data leave in the order of the ticks, after the store has confirmed them.
4. A publication that the store refuses leaves its ticks silent and its sequence numbers free.  If
   the sync failed instead, it is unknown whether the publication is stored: its publisher is told
   so, and the pubend closes.  It says nothing more of its stream and accepts nothing more until the
   broker restarts; what was spoken of before can still be read.
5. A repeat of stored rows is answered after everything before it is resolved: rows that are stored
   are confirmed, rows that were refused meanwhile are refused.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration, Instant
from penstock.core.intervals import IntervalSet, Tick
from penstock.core.machine import (
    Effect,
    InvariantBroken,
    LinkName,
    Persist,
    PersistFailed,
    Priority,
    Send,
)
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import SequenceTable, UncertainNumbers
from penstock.services.guaranteed.messages import LogEntry, PublishReceipt, PublishRefused
from penstock.services.guaranteed.source.log_retention import LogRetention
from penstock.services.guaranteed.source.producer_checkpoint import ProducerCheckpoint
from penstock.services.guaranteed.source.publisher_control import PublisherControl

SILENT: Final = ""
"""The producer's name in a log entry that only records silence."""


class _Pending:
    """A frame on its way to the disk, or a repeat that waits for the frames before it."""

    __slots__ = (
        "count",
        "failure",
        "first_sequence",
        "frame",
        "producer",
        "resolved",
        "session",
        "waited_ns",
    )

    def __init__(
        self,
        frame: Frame | None,
        producer: str,
        first_sequence: int,
        count: int,
        session: LinkName | None,
        waited_ns: Duration = 0,
    ) -> None:
        self.frame = frame
        self.waited_ns = waited_ns
        self.producer = producer
        self.first_sequence = first_sequence
        self.count = count
        self.session = session
        self.resolved = False
        self.failure: PersistFailed | None = None


class StreamWriter:
    """Everything of one stream between the admission of rows and their receipts."""

    def __init__(
        self,
        name: str,
        log: str,
        end: Tick,
        *,
        tokens: Tokens,
        producers: SequenceTable,
        checkpoint: ProducerCheckpoint,
        control: PublisherControl,
        retention: LogRetention,
        silence_interval_ns: Duration,
        now: Instant,
    ) -> None:
        """``end`` is the end of the log that was found."""
        self.assigned_end: Tick = end
        """The end of the ticks that were given out."""
        self.spoken_end: Tick = end
        """The end of what is durable and was spoken of."""
        self.rows_end: Tick = end
        """Behind this tick there is only silence so far."""
        self.published_messages = 0
        self.closed_because = ""
        """Why the pubend accepts nothing more until the broker restarts; empty while it does."""
        self._unsure = UncertainNumbers()
        self.pending_bytes = 0
        self._name = name
        self._log = log
        self._tokens = tokens
        self._producers = producers
        self._checkpoint = checkpoint
        self._control = control
        self._retention = retention
        self._silence_interval_ns = silence_interval_ns
        self._pending: deque[_Pending] = deque()
        self._by_token: dict[int, _Pending] = {}
        self._last_spoken_at: Instant = now

    # -- storing ----------------------------------------------------------------------------

    def append(
        self,
        batch: Batch,
        producer: str,
        first_sequence: int,
        session: LinkName | None,
        waited_ns: Duration,
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Store new rows; ``session`` gets the answer, unless it is None."""
        count = len(batch)
        low = self.assigned_end
        tick = max(now, low)
        frame = Frame(low, tick + count, range(tick, tick + count), batch)
        producers = self._producers
        producers.add(producer, first_sequence, count)
        self._checkpoint.changed = True
        self._control.published(tick, count, frame.weight, now)
        pending = _Pending(frame, producer, first_sequence, count, session, waited_ns)
        self._persist(frame, pending, producers.instances.of(producer), out)

    def _persist(self, frame: Frame, pending: _Pending, instance: int, out: list[Effect]) -> None:
        token = self._tokens.take(self._log)
        self.assigned_end = frame.high
        self._pending.append(pending)
        self.pending_bytes += frame.weight
        self._by_token[token] = pending
        entry = LogEntry(pending.producer, pending.first_sequence, frame, instance)
        out.append(Persist(token, self._log, entry))

    def repeat(
        self,
        producer: str,
        first_sequence: int,
        count: int,
        session: LinkName,
        waited_ns: Duration,
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Answer rows of which some were stored before, after everything that is in flight."""
        repeat = _Pending(None, producer, first_sequence, count, session, waited_ns)
        repeat.resolved = True
        self._pending.append(repeat)
        self._speak(now, out)

    def silence_due_at(self) -> Instant | None:
        """When the stream must say that it is silent, unless something is in flight."""
        if self._pending or self.closed_because:
            return None
        return self._last_spoken_at + self._silence_interval_ns

    def say_silence_if_due(self, now: Instant, out: list[Effect]) -> None:
        due_at = self.silence_due_at()
        if due_at is None or now < due_at:
            return
        frame = Frame(self.assigned_end, max(now, self.assigned_end + 1))
        self._persist(frame, _Pending(frame, SILENT, 0, 0, None), 0, out)
        self._last_spoken_at = now

    def in_flight(self) -> list[tuple[str, int, int]]:
        """Producer, first number and count of the rows that the store has not confirmed."""
        return [
            (pending.producer, pending.first_sequence, pending.count)
            for pending in self._pending
            if pending.frame is not None and pending.producer != SILENT
        ]

    # -- the store's answers ----------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> list[Frame]:
        """A frame is durable, or was refused; returns the frames to speak of now, in order."""
        pending = self._by_token.pop(token, None)
        if pending is None:
            return []
        if failure is not None and failure.uncertain:
            self.closed_because = self.closed_because or failure.reason
        pending.resolved = True
        pending.failure = failure
        return self._speak(now, out)

    def _speak(self, now: Instant, out: list[Effect]) -> list[Frame]:
        spoken: list[Frame] = []
        while self._pending and self._pending[0].resolved:
            pending = self._pending.popleft()
            frame = pending.frame
            if frame is None:
                self._answer_repeat(pending, out)
                continue
            self.pending_bytes -= frame.weight
            if pending.failure is not None:
                self._unstored(pending, pending.failure)
                self._answer(pending, 0, out)
                continue
            self._retention.appended(frame.weight)
            # Ticks of a refused publication before this one are silence from now on.
            spoken.append(Frame(self.spoken_end, frame.high, frame.ticks, frame.batch))
            self.spoken_end = frame.high
            self._last_spoken_at = now
            self.published_messages += len(frame)
            if len(frame):
                self.rows_end = frame.high
            self._answer(pending, int(frame.ticks[0]) if len(frame) else 0, out)
        return spoken

    def _unstored(self, pending: _Pending, failure: PersistFailed) -> None:
        """Free the numbers of a refused publication; note them if it may be stored all the same."""
        producer, first, count = pending.producer, pending.first_sequence, pending.count
        self._producers.remove(producer, first, count)
        if failure.uncertain:
            self._unsure.add(producer, first, count, failure.reason)

    def is_unsure(self, producer: str, first: int, count: int) -> bool:
        """Whether it is unknown if some of these rows are stored, after a failed sync."""
        return self._unsure.touches(producer, first, count)

    def _answer_repeat(self, pending: _Pending, out: list[Effect]) -> None:
        producer, session = pending.producer, pending.session
        assert session is not None
        first, end = pending.first_sequence, pending.first_sequence + pending.count
        missing = IntervalSet(self._producers.new_numbers(producer, first, pending.count))
        for low, high in missing.gaps(first, end):
            receipt = PublishReceipt(producer, low, high - low, 0, pending.waited_ns)
            out.append(Send(session, receipt, Priority.CONTROL))
        for low, high in missing:
            unsure = self.is_unsure(producer, low, high - low)
            reason = self._unsure.reason if unsure else "the store refused it just now"
            refusal = PublishRefused(producer, low, high - low, reason, unsure)
            out.append(Send(session, refusal, Priority.CONTROL))

    def _answer(self, pending: _Pending, first_tick: Tick, out: list[Effect]) -> None:
        if pending.session is None:
            return
        producer, first, count = pending.producer, pending.first_sequence, pending.count
        reply: PublishRefused | PublishReceipt
        failure = pending.failure
        if failure is not None:
            reply = PublishRefused(producer, first, count, failure.reason, failure.uncertain)
        else:
            reply = PublishReceipt(producer, first, count, first_tick, pending.waited_ns)
        out.append(Send(pending.session, reply, Priority.CONTROL))

    def check_invariants(self) -> None:
        """Raise unless the stream's marks are in order."""
        log_start = self._retention.log_start
        if not log_start <= self.spoken_end <= self.assigned_end:
            raise InvariantBroken(
                f"pubend {self._name}: log starts at {log_start}, spoken to {self.spoken_end}, "
                f"assigned to {self.assigned_end}"
            )
