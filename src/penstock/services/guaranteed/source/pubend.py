"""A pubend: one ordered, durable stream of messages, at the broker that hosts it.

It owns the parts of that stream:

- ``publishing``: which publications enter, and when; behind the gate of ``control`` (PDCC);
- ``writer``: ticks, the log, receipts, and what may be spoken of;
- ``recovery``: reading the end of the log after a start;
- ``requests``: answers from the log to requests for old ticks;
- ``retention`` and ``holds``: how much of the log is kept, and for which edges.
"""

from __future__ import annotations

import msgspec

from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration, Instant, earliest
from penstock.core.clock_skew import ahead_of, describe_ahead
from penstock.core.intervals import IntervalSet, Tick
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, TrimLog
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import SequenceTable
from penstock.services.guaranteed.messages import DownstreamCongestionQuery
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.log_requests import LogAnswer, LogRequests
from penstock.services.guaranteed.source.log_retention import LogRetention
from penstock.services.guaranteed.source.producer_checkpoint import ProducerCheckpoint
from penstock.services.guaranteed.source.publisher_control import PublisherControl
from penstock.services.guaranteed.source.publishing import Publishing
from penstock.services.guaranteed.source.recovery import Recovery
from penstock.services.guaranteed.source.stream_writer import StreamWriter


class Pubend:
    """The machine of one stream."""

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
        ``query_phase`` is the share of the query interval by which this pubend sends its queries
        later than the first one of its broker.
        """
        self.name = name
        self.log = f"pubend/{name}"
        self.holds = holds
        self.clock_ahead_ns: Duration = 0
        beginning = now if saved_beginning is None else int.from_bytes(saved_beginning, "big")
        first, end, size = log_bounds or (beginning, beginning, 0)
        self.beginning: Tick = first if saved_beginning is None else min(beginning, first)
        """Where the stream began; below ``log_start`` if its log was trimmed since."""
        self._producers = SequenceTable(parameters.producer_limit, bounded_sets=True)
        self._instances = self._producers.instances
        complete_to = first
        if saved_producers is not None:
            complete_to = max(first, self._producers.restore(saved_producers))
        self._checkpoint = ProducerCheckpoint(
            self.log,
            f"pubend/{name}/producers",
            self._producers,
            tokens,
            interval_ns=parameters.producer_checkpoint_ns,
            saved_to=complete_to,
            now=now,
        )
        self._recovery = Recovery(
            self.log,
            f"pubend/{name}/beginning",
            self._producers,
            tokens,
            read_from=complete_to,
            is_new=log_bounds is None and saved_beginning is None,
            piece_bytes=parameters.answer_bytes,
        )
        self.control = PublisherControl(name, parameters.congestion, now, query_phase)
        self.retention = LogRetention(parameters, holds, first, size, now)
        self.writer = StreamWriter(
            name,
            self.log,
            end,
            tokens=tokens,
            producers=self._producers,
            checkpoint=self._checkpoint,
            control=self.control,
            retention=self.retention,
            silence_interval_ns=parameters.silence_interval_ns,
            now=now,
        )
        self.publishing = Publishing(
            name,
            parameters,
            producers=self._producers,
            recovery=self._recovery,
            admission=self.control.admission,
            links=self.control.links,
            writer=self.writer,
            retention=self.retention,
            holds=holds,
        )
        self._requests = LogRequests(self.log, parameters, tokens)

    def start(self) -> list[Effect]:
        """What must be done before anything else (``recovery``)."""
        return self._recovery.start(self.log_start, self.writer.assigned_end)

    @property
    def ready(self) -> bool:
        """Whether the table of producers is complete, so that repeats are recognised."""
        return self._recovery.ready

    # -- producers --------------------------------------------------------------------------

    def open(self, producer: str, instance: int, *, resumes: bool) -> bool:
        """A publisher wants its name; False if another one has it."""
        taken = self._instances.take(producer, instance, resumes=resumes)
        self._checkpoint.changed = self._checkpoint.changed or taken
        return taken

    def producer_left(self, session: LinkName, producer: str) -> None:
        """A publisher is gone, or another one replaced it."""
        self.publishing.producer_left(session, producer)

    def next_sequence(self, producer: str) -> int:
        """The first sequence number of a producer that is not stored."""
        return self._producers.next_sequence(producer)

    # -- requests ---------------------------------------------------------------------------

    def request(
        self,
        low: Tick,
        high: Tick,
        filter_text: str,
        out: list[Effect],
        *,
        max_bytes: int = 0,
        recovers: bool = False,
    ) -> None:
        """Read the requested ticks, at most ``max_bytes`` of them; ``log_read`` has the answer."""
        high = min(high, self.writer.spoken_end)
        if low < high and self.ready:
            read = self._requests.read(low, high, filter_text, max_bytes, recovers=recovers)
            out.append(read)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> LogAnswer | None:
        """The store has read a piece of the log: for the recovery, or for a request."""
        if not self._recovery.ordered(fact.token):
            return self._requests.answer(fact, self.log_start)
        self._requests.note_lost(fact)
        self._checkpoint.changed = self._checkpoint.changed or bool(fact.frames)
        out += self._recovery.log_read(fact, self.writer.assigned_end)
        if self.ready:
            self.publishing.admit(now, out)
        return None

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> list[Frame]:
        """The store's answer to an order; returns the frames to speak of now, in order."""
        if self._checkpoint.resolved(token, failure):
            if self.retention.needs_checkpoint and failure is None:
                self.retention.look_soon(now)
            return []
        return self.writer.resolved(token, failure, now, out)

    # -- time -------------------------------------------------------------------------------

    def query_due(self, now: Instant) -> DownstreamCongestionQuery | None:
        """The congestion query to send now, if it is time for one."""
        query = self.control.query_due(self.writer.spoken_end, now)
        return query and msgspec.structs.replace(query, earliest=self.log_start)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Admit waiting publications, say silence, save the producers, trim the log."""
        self.publishing.admit(now, out)
        self.writer.say_silence_if_due(now, out)
        if self._checkpoint.is_due(now) and self.ready:
            out.append(self._checkpoint.save(self.writer.spoken_end, self.writer.in_flight()))
        if now >= self.retention.look_at:
            self._trim(now, out)

    def _trim(self, now: Instant, out: list[Effect]) -> None:
        before, end = self.log_start, self.writer.spoken_end
        below = self.retention.trim(end, self._checkpoint.covers(end), now)
        if self.retention.needs_checkpoint:
            self._checkpoint.hasten(now)
        if below > before:
            self._requests.trimmed(below)
            out.append(TrimLog(self.log, below))

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(
            self.control.next_deadline(waiting=self.publishing.waits_for_the_gate),
            self.writer.silence_due_at(),
            self._checkpoint.due_at,
            self.retention.look_at,
        )

    # -- looking in -------------------------------------------------------------------------

    @property
    def log_start(self) -> Tick:
        """Where the log begins at present."""
        return self.retention.log_start

    @property
    def spoken_end(self) -> Tick:
        """The end of what is durable and was spoken of."""
        return self.writer.spoken_end

    @property
    def rows_end(self) -> Tick:
        """Behind this tick there is only silence so far."""
        return self.writer.rows_end

    @property
    def published_messages(self) -> int:
        """Rows that were stored since the start."""
        return self.writer.published_messages

    @property
    def waiting(self) -> int:
        """How many publications wait for the rate that is allowed."""
        return self.publishing.waiting

    @property
    def log_bytes(self) -> int:
        """What the log holds at present."""
        return self.retention.bytes

    @property
    def lost(self) -> IntervalSet:
        """The ticks that the disk can no longer read."""
        return self._requests.lost

    def problems(self, now: Instant) -> list[str]:
        """What an operator should know, in whole sentences."""
        said = []
        closed_because, end = self.writer.closed_because, self.writer.assigned_end
        if closed_because:
            said.append(
                f"pubend {self.name!r} takes nothing more until the broker is started again: "
                f"{closed_because}"
            )
        ahead = ahead_of(now - self.clock_ahead_ns, end)
        if ahead:
            said.append(describe_ahead(self.name, end, ahead))
        if self.lost:
            where = ", ".join(f"[{low}, {high})" for low, high in self.lost)
            said.append(
                f"the log of pubend {self.name!r} is damaged: the ticks {where} are lost, and "
                "their readers are told so; see penstock log check"
            )
        return said

    def check_invariants(self) -> None:
        """Raise unless the stream's marks are in order."""
        self.writer.check_invariants()
