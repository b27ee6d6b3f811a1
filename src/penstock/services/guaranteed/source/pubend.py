"""A pubend: one ordered, durable stream of messages.

1. A publication takes the ticks ``max(now, end of the stream)`` and following; the frame reaches
   back to the end of the frame before it, so that the stream has no hole.
2. Whatever a pubend says of its stream is in its log first: data, and silence too.  After a crash
   it therefore never contradicts what it said.
3. Receipts and live data leave in the order of the ticks, when the store has confirmed them.
4. A publication that the store refuses leaves its ticks silent and its sequence numbers free.
   If the sync failed instead, nobody knows whether it is stored: its publisher is told so, the
   pubend says nothing more of its stream and takes nothing more until the broker is started again.
   What was spoken of before can still be read.
5. Requests for old ticks are answered from the log, a bounded piece at a time; ticks that the log
   no longer holds are answered as final.
6. The log is trimmed below what every edge acknowledged, and not before it is old or large enough
   that nobody expects to replay it (penstock.services.guaranteed.source.log_retention).
"""

from __future__ import annotations

from collections import deque

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration, Instant, earliest
from penstock.core.clock_skew import ahead_of, describe_ahead
from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.machine import (
    Effect,
    InvariantBroken,
    LinkName,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    Priority,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import SequenceTable, UncertainNumbers
from penstock.services.guaranteed.messages import (
    LogEntry,
    Publish,
    PublishReceipt,
    PublishRefused,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.log_retention import LogRetention
from penstock.services.guaranteed.source.publisher_control import PublisherControl
from penstock.services.guaranteed.source.waiting_publications import SHARE, WaitingPublications

SILENT = ""
"""The producer's name in a log entry that only records silence."""


class _Pending:
    """A frame on its way to the disk, or a receipt that waits for those before it."""

    __slots__ = (
        "count",
        "failure",
        "first_sequence",
        "frame",
        "instance",
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
        self.instance = 0
        self.first_sequence = first_sequence
        self.count = count
        self.session = session
        self.resolved = False
        self.failure: PersistFailed | None = None


class LogAnswer:
    """A piece of the log that somebody asked for: unfiltered frames, contiguous and in order."""

    __slots__ = ("filter", "frames", "more")

    def __init__(self, frames: list[Frame], filter_text: str, *, more: bool) -> None:
        self.frames = frames
        self.filter = filter_text
        self.more = more


def spell_out(entries: list[Frame], low: Tick, high: Tick, frames: list[Frame]) -> list[Frame]:
    """Append what stored frames say of ``[low, high)``; returns those that reach beyond it."""
    at = low
    for entry in entries:
        part = entry.slice(at, high)
        if len(part):
            # Silence before the rows travels with them.
            frames.append(Frame(at, part.high, part.ticks, part.batch))
            at = part.high
    if at < high:
        frames.append(Frame(at, high))
    return [entry for entry in entries if entry.high > high]


class Pubend:
    """The machine of one stream, at the broker that hosts it."""

    def __init__(
        self,
        name: str,
        parameters: GuaranteedParameters,
        tokens: Tokens,
        *,
        log_bounds: tuple[Tick, Tick, int] | None,
        saved_producers: bytes | None,
        holds: Holds,
        query_phase: float,
        now: Instant,
        saved_beginning: bytes | None = None,
    ) -> None:
        """``log_bounds`` are first tick, end and size of the log that was found, if any.

        ``saved_beginning`` is where the stream began, if it was here before.
        ``query_phase`` is the share of the query interval by which this pubend asks later than
        the first one of its broker.
        """
        self.name = name
        self.log = f"pubend/{name}"
        self.producers_key = f"pubend/{name}/producers"
        self.beginning_key = f"pubend/{name}/beginning"
        self.holds = holds
        self.control = PublisherControl(name, parameters.congestion, now, query_phase)
        self._parameters = parameters
        self._tokens = tokens
        self._producers = SequenceTable(parameters.producer_limit, bounded_sets=True)
        self._is_new = log_bounds is None and saved_beginning is None
        beginning = now if saved_beginning is None else int.from_bytes(saved_beginning, "big")
        first, end, size = log_bounds or (beginning, beginning, 0)
        self.beginning: Tick = first if saved_beginning is None else min(beginning, first)
        """Where the stream began; below ``log_start``, if its log was trimmed since."""
        self.log_start: Tick = first
        self.assigned_end: Tick = end
        self.spoken_end: Tick = end
        self.rows_end: Tick = end
        self.retention = LogRetention(parameters, holds, size, now)
        self._pending: deque[_Pending] = deque()
        self._pending_bytes = 0
        self._by_token: dict[int, _Pending] = {}
        self._reads: dict[int, tuple[Interval, str]] = {}
        self._recovery_token: int | None = None
        self._recovery_from: Tick = first
        self._last_spoken_at: Instant = now
        self._checkpoint_at: Instant = now + parameters.producer_checkpoint_ns
        self._checkpoint_dirty = False
        self._waiting = WaitingPublications()
        self.published_messages = 0
        self.closed_because = ""
        self.lost = IntervalSet()
        self.clock_ahead_ns: Duration = 0
        self._unsure = UncertainNumbers()
        if saved_producers is not None:
            self._recovery_from = max(first, self._producers.restore(saved_producers))

    # -- recovery ---------------------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Read the end of the log, from where the saved table of producers stops.

        Where a new stream begins is saved first: readers may be told before anything is logged, and
        after a crash a later beginning would look like a loss to them.
        """
        if self._is_new:
            token = self._tokens.take(self.log)
            beginning = self.log_start.to_bytes(8, "big")
            return [PersistState(token, {self.beginning_key: beginning})]
        if self._recovery_from >= self.assigned_end:
            return []
        return [self._recovery_read()]

    def _recovery_read(self) -> ReadLog:
        self._recovery_token = self._tokens.take(self.log)
        limit = self._parameters.answer_bytes
        return ReadLog(
            self._recovery_token, self.log, self._recovery_from, self.assigned_end, limit
        )

    @property
    def ready(self) -> bool:
        """Whether the table of producers is complete, so that repeats are recognised."""
        return self._recovery_token is None

    # -- publishing -------------------------------------------------------------------------

    def publish(self, session: LinkName, message: Publish, now: Instant, out: list[Effect]) -> None:
        """Take a publication in; it is stored when the rate that is allowed permits."""
        if self.closed_because:
            self._decline(session, message, out)
            return
        weight = message.batch.wire_size
        parameters = self._parameters
        reason = ""
        if self._producers.forgotten(message.producer, message.first_sequence):
            reason = (
                f"sequence number {message.first_sequence} lies below gaps in the numbers of "
                f"{message.producer!r} that are too many to remember; go on with new numbers"
            )
            self._refuse(session, message, reason, out)
            return
        limit = parameters.submit_limit_bytes
        waiting = self._waiting.weight_of(session, message.producer) if self._waiting else 0
        if self._waiting.weight + self._pending_bytes + weight > limit:
            reason = "the broker's publish buffer is full; retry later"
        elif waiting and (waiting + weight) * SHARE > limit:
            reason = (
                f"{waiting} bytes of {message.producer!r} wait to be published, a quarter of "
                "submit_limit_bytes, which is its share; wait for receipts"
            )
        elif self.retention.is_full(weight):
            reason = (
                f"the log of pubend {self.name!r} has reached log_limit_bytes "
                f"({parameters.log_limit_bytes}) and may not be trimmed: "
                f"{self.holds.describe_lowest()}"
            )
        if reason and not self._is_repeat(message):
            self._refuse(session, message, reason, out)
            return
        if not self._waiting and self.ready and self.control.admission.may_pass(now):
            # Nobody waits and nothing slows it down, which is the rule.
            self._store(session, message, 0, now, out)
            return
        self._waiting.add(session, message, now)
        self.admit(now, out)

    def _is_repeat(self, message: Publish) -> bool:
        """Whether some of the rows are stored: nobody may be told that they were refused."""
        first, count = message.first_sequence, len(message.batch)
        fresh = self._producers.new_numbers(message.producer, first, count)
        return fresh != [(first, first + count)]

    def admit(self, now: Instant, out: list[Effect]) -> None:
        """Store whatever waits and may go now."""
        while self._waiting and self.ready and self.control.admission.may_pass(now):
            session, message, since = self._waiting.next()
            self._store(session, message, now - since, now, out)

    def open(self, producer: str, instance: int, *, resumes: bool) -> bool:
        """A publisher wants its name; False if another one has it."""
        taken = self._producers.instances.take(producer, instance, resumes=resumes)
        self._checkpoint_dirty = self._checkpoint_dirty or taken
        return taken

    def producer_left(self, session: LinkName, producer: str) -> None:
        """Forget what waits of a publisher that is gone, or that another one replaced.

        It has no receipt for any of it and sends it again when it is back.  Were it stored now, a
        refusal that nobody hears could leave a gap that is filled out of order.
        """
        self._waiting.forget(session, producer)

    def _store(
        self, session: LinkName, message: Publish, waited: Duration, now: Instant, out: list[Effect]
    ) -> None:
        producer, first, count = message.producer, message.first_sequence, len(message.batch)
        if self.closed_because:
            self._decline(session, message, out)
            return
        fresh = self._producers.new_numbers(producer, first, count)
        if fresh == [(first, first + count)]:
            pending = _Pending(None, producer, first, count, session, waited)
            self._append(pending, message.batch, now, out)
            return
        for low, high in fresh:
            part = message.batch.slice(low - first, high - first)
            self._append(_Pending(None, producer, low, high - low, None), part, now, out)
        repeat = _Pending(None, producer, first, count, session, waited)
        repeat.resolved = True
        self._pending.append(repeat)
        self._speak(now, out)

    def _append(self, pending: _Pending, batch: Batch, now: Instant, out: list[Effect]) -> None:
        count = len(batch)
        low = self.assigned_end
        tick = max(now, low)
        pending.frame = Frame(low, tick + count, range(tick, tick + count), batch)
        self._producers.add(pending.producer, pending.first_sequence, count)
        pending.instance = self._producers.instances.of(pending.producer)
        self._checkpoint_dirty = True
        self.control.published(tick, count, now)
        self._persist(pending, out)

    def _persist(self, pending: _Pending, out: list[Effect]) -> None:
        frame = pending.frame
        assert frame is not None
        token = self._tokens.take(self.log)
        self.assigned_end = frame.high
        self._pending.append(pending)
        self._pending_bytes += frame.weight
        self._by_token[token] = pending
        entry = LogEntry(pending.producer, pending.first_sequence, frame, pending.instance)
        out.append(Persist(token, self.log, entry))

    def _refuse(self, session: LinkName, message: Publish, reason: str, out: list[Effect]) -> None:
        count = len(message.batch)
        refusal = PublishRefused(message.producer, message.first_sequence, count, reason)
        out.append(Send(session, refusal, Priority.CONTROL))

    def _decline(self, session: LinkName, message: Publish, out: list[Effect]) -> None:
        """Answer a publication that comes after a failed sync: it is not even tried."""
        producer, first, count = message.producer, message.first_sequence, len(message.batch)
        unsure = self._unsure.touches(producer, first, count)
        reason = (
            f"pubend {self.name!r} takes nothing more until the broker is started again: "
            f"{self.closed_because}"
        )
        refusal = PublishRefused(producer, first, count, reason, unsure)
        out.append(Send(session, refusal, Priority.CONTROL))

    def next_sequence(self, producer: str) -> int:
        """The first sequence number of a producer that is not stored."""
        return self._producers.next_sequence(producer)

    # -- the store's word -------------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> list[Frame]:
        """A frame is durable, or was refused; returns what can be spoken of now, in order."""
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
            if frame is not None:
                self._pending_bytes -= frame.weight
            if frame is None:
                self._answer_repeat(pending, out)
                continue
            if pending.failure is not None:
                self._unstored(pending, pending.failure)
                self._answer(pending, 0, out)
                continue
            self.retention.appended(frame.weight)
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
        """The numbers of a publication are free, unless nobody knows whether it is stored."""
        producer, first, count = pending.producer, pending.first_sequence, pending.count
        self._producers.remove(producer, first, count)
        if failure.uncertain:
            self._unsure.add(producer, first, count, failure.reason)

    def _answer_repeat(self, pending: _Pending, out: list[Effect]) -> None:
        """Everything before a repeat is settled: confirm what is stored, refuse what is not."""
        producer, session = pending.producer, pending.session
        assert session is not None
        first, end = pending.first_sequence, pending.first_sequence + pending.count
        missing = IntervalSet(self._producers.new_numbers(producer, first, pending.count))
        for low, high in missing.gaps(first, end):
            receipt = PublishReceipt(producer, low, high - low, 0, pending.waited_ns)
            out.append(Send(session, receipt, Priority.CONTROL))
        for low, high in missing:
            unsure = self._unsure.touches(producer, low, high - low)
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

    # -- answering requests -----------------------------------------------------------------

    def request(
        self, low: Tick, high: Tick, filter_text: str, out: list[Effect], *, max_bytes: int = 0
    ) -> None:
        """Read what was asked for, no more than ``max_bytes``; ``log_read`` gives the answer."""
        high = min(high, self.spoken_end)
        if low >= high or not self.ready:
            return
        token = self._tokens.take(self.log)
        self._reads[token] = ((low, high), filter_text)
        parameters = self._parameters
        if max_bytes > 0:
            most = min(max_bytes, parameters.local_answer_bytes)
            out.append(ReadLog(token, self.log, low, high, most, parameters.answer_frames))
        else:
            out.append(ReadLog(token, self.log, low, high, parameters.answer_bytes))

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> LogAnswer | None:
        """The store answered: either the recovery of the producers, or somebody's request."""
        if fact.token == self._recovery_token:
            self._recovered(fact, now, out)
            return None
        (low, high), filter_text = self._reads.pop(fact.token)
        end = min(fact.complete_to, high)
        frames: list[Frame] = []
        at = low
        kept_from = max(self.log_start, fact.complete_from)
        if low < kept_from:
            at = min(kept_from, end)
            frames.append(Frame(low, at, final=True))
        entries = [entry.frame for entry in fact.frames]
        for lost_low, lost_high in self._lost_of(fact, at, end):
            entries = spell_out(entries, at, lost_low, frames)
            frames.append(Frame(lost_low, lost_high, final=True))
            at = lost_high
        spell_out(entries, at, end, frames)
        return LogAnswer(frames, filter_text, more=end < high)

    def _lost_of(self, fact: LogRead, low: Tick, high: Tick) -> list[Interval]:
        """What of an interval the disk can no longer read; it stays known until it is trimmed."""
        if not fact.lost:
            return []
        for interval in fact.lost:
            self.lost.add(*interval)
        return self.lost.within(low, high)

    def _recovered(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        # Whose rows are lost is not known: a repeat of them will be stored, and told nobody twice.
        self._lost_of(fact, self._recovery_from, fact.complete_to)
        for entry in fact.frames:
            if entry.producer != SILENT and entry.frame.low >= self._recovery_from:
                count = len(entry.frame)
                self._producers.add(entry.producer, entry.first_sequence, count)
                self._producers.instances.note(entry.producer, entry.instance)
        self._recovery_from = max(self._recovery_from, fact.complete_to)
        if fact.complete_to < self.assigned_end:
            out.append(self._recovery_read())
            return
        self._recovery_token = None
        self.admit(now, out)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Say silence, save the producers, trim the log, let waiting publications pass."""
        self.admit(now, out)
        parameters = self._parameters
        if now >= self._silence_due() and not self._pending and not self.closed_because:
            frame = Frame(self.assigned_end, max(now, self.assigned_end + 1))
            self._persist(_Pending(frame, SILENT, 0, 0, None), out)
            self._last_spoken_at = now
        if now >= self._checkpoint_at:
            self._checkpoint_at = now + parameters.producer_checkpoint_ns
            if self._checkpoint_dirty and self.ready:
                self._checkpoint(out)
        if now >= self.retention.look_at:
            self._trim(now, out)

    def _checkpoint(self, out: list[Effect]) -> None:
        """Save the producers without what is on its way to the disk, which may yet be refused.

        A busy pubend always has something on its way: waiting for a pause would be for ever.
        """
        unsure = [
            (pending.producer, pending.first_sequence, pending.count)
            for pending in self._pending
            if pending.frame is not None and pending.producer != SILENT
        ]
        self._checkpoint_dirty = bool(unsure)
        saved = self._producers.save(self.spoken_end, unsure)
        out.append(PersistState(self._tokens.take(self.log), {self.producers_key: saved}))

    def _silence_due(self) -> Instant:
        return self._last_spoken_at + self._parameters.silence_interval_ns

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        control = self.control.next_deadline(waiting=bool(self._waiting) and self.ready)
        quiet = self._pending or self.closed_because
        silence = None if quiet else self._silence_due()
        return earliest(control, silence, self._checkpoint_at, self.retention.look_at)

    def _trim(self, now: Instant, out: list[Effect]) -> None:
        """Trim what everybody acknowledged and what is too old or too much to keep for replay."""
        below = self.retention.trim_below(self.log_start, self.spoken_end, now)
        if below > self.log_start:
            self.log_start = below
            self.lost.remove(0, below)
            out.append(TrimLog(self.log, below))

    @property
    def log_bytes(self) -> int:
        """What the log holds at present."""
        return self.retention.bytes

    def problems(self, now: Instant) -> list[str]:
        """What an operator should know, in whole sentences."""
        said = []
        if self.closed_because:
            said.append(
                f"pubend {self.name!r} takes nothing more until the broker is started again: "
                f"{self.closed_because}"
            )
        ahead = ahead_of(now - self.clock_ahead_ns, self.assigned_end)
        if ahead:
            said.append(describe_ahead(self.name, self.assigned_end, ahead))
        if self.lost:
            where = ", ".join(f"[{low}, {high})" for low, high in self.lost)
            said.append(
                f"the log of pubend {self.name!r} is damaged: the ticks {where} are lost, and "
                "whoever reads them is told so; see penstock log check"
            )
        return said

    @property
    def waiting(self) -> int:
        """How many publications wait for the rate that is allowed."""
        return len(self._waiting)

    def check_invariants(self) -> None:
        """The stream's marks are in order."""
        if not self.log_start <= self.spoken_end <= self.assigned_end:
            raise InvariantBroken(
                f"pubend {self.name}: log starts at {self.log_start}, spoken to "
                f"{self.spoken_end}, assigned to {self.assigned_end}"
            )
