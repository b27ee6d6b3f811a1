"""Publishes decided epochs, piece by piece, through the pubend's own gate.

1. The next piece is read from the staging log when the pubend has confirmed the one before.  A
   piece that the pubend refuses (a full disk, a full buffer) is tried again after ``RETRY``.
2. A piece that the disk can no longer read is left out; the committer is told how many rows are
   lost.
3. When every piece is published, that is saved, and the requests that wait are answered.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.intervals import IntervalSet, Tick
from penstock.core.machine import (
    Effect,
    LinkName,
    LogRead,
    PersistFailed,
    ReadLog,
)
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.messages import Publish, PublishReceipt, PublishRefused
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.staged_epoch import (
    STAGING,
    Decision,
    PublishingEpoch,
    SinkState,
    producer_of,
    sink_of,
)

RETRY: Final[Duration] = SECOND
"""When a refused publication, or a save that failed, is tried again."""


class EpochPublisher:
    """The epochs of one broker that are being published, at most one for each sink."""

    def __init__(
        self, tokens: Tokens, sinks: Sinks, gate: StagingGate, *, piece_bytes: int
    ) -> None:
        self._tokens = tokens
        self._sinks = sinks
        self._gate = gate
        self._piece_bytes = piece_bytes
        self._publishing: dict[str, PublishingEpoch] = {}
        self._reading: dict[int, str] = {}
        self._finishing: dict[int, tuple[str, SinkState]] = {}
        self.retries: dict[str, Instant] = {}
        """When the publication of each sink is tried again."""

    def begin(self, sink: str, decision: Decision, now: Instant) -> None:
        """Publish a decision, from its first piece on, whatever was published before a crash."""
        self._publishing[sink] = PublishingEpoch(decision)
        self.retries[sink] = now

    def wait_for(self, sink: str, epoch: int, asked: OpenRequest) -> bool:
        """Answer this request when an epoch is published; False if it is not being published."""
        publishing = self._publishing.get(sink)
        if publishing is None or publishing.decision.epoch != epoch:
            return False
        publishing.waiting.append(asked)
        return True

    def session_closed(self, session: LinkName) -> None:
        """The session needs no answers any more; what was decided goes on."""
        for publishing in self._publishing.values():
            publishing.waiting = [each for each in publishing.waiting if each.session != session]

    def advance(self, sink: str, now: Instant, out: list[Effect]) -> None:
        """Read the next piece; after the last one save that the epoch is published."""
        self.retries.pop(sink, None)
        publishing = self._publishing[sink]
        token = self._tokens.take(STAGING)
        piece = publishing.next_piece
        if piece is not None:
            self._reading[token] = sink
            out.append(ReadLog(token, STAGING, *piece, self._piece_bytes))
            return
        decision = publishing.decision
        state = msgspec.structs.replace(
            self._sinks.state(sink),
            epoch=decision.epoch,
            next_sequence=decision.first_sequence + decision.rows,
            decision=None,
        )
        self._finishing[token] = (sink, state)
        out.append(self._sinks.save(token, sink, state))

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """Publish the piece that was read."""
        sink = self._reading.pop(fact.token)
        publishing = self._publishing[sink]
        if fact.lost and not fact.frames:
            publishing.piece_lost()
            self.advance(sink, now, out)
            return
        pubend = publishing.decision.pubend
        if not fact.frames or not self._gate.has(pubend):
            self.retries[sink] = now + RETRY
            return
        batch = fact.frames[0].frame.batch
        first = publishing.sequence
        publishing.unconfirmed = IntervalSet([(first, first + len(batch))])
        self._gate.publish(pubend, Publish(producer_of(sink), first, batch), now, out)

    def receipt(
        self, link: LinkName, message: PublishReceipt, now: Instant, out: list[Effect]
    ) -> None:
        """The pubend has stored rows of a piece."""
        sink = sink_of(message.producer)
        publishing = self._publishing.get(sink)
        if publishing is None:
            return
        first, end = message.first_sequence, message.first_sequence + message.count
        publishing.unconfirmed.remove(first, end)
        if not len(publishing.unconfirmed) and sink not in self.retries:
            publishing.piece_published()
            self.advance(sink, now, out)

    def refused(
        self, link: LinkName, message: PublishRefused, now: Instant, out: list[Effect]
    ) -> None:
        """The pubend has refused rows of a piece: try it again later."""
        sink = sink_of(message.producer)
        if sink in self._publishing:
            self.retries[sink] = now + RETRY

    def ordered(self, token: int) -> bool:
        """Whether an order to save that an epoch is published was given here."""
        return token in self._finishing

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """That an epoch is published is saved: returns the answers; or it will be tried again."""
        sink, state = self._finishing.pop(token)
        if failure:
            self.retries[sink] = now + RETRY
            return []
        publishing = self._publishing.pop(sink)
        self._sinks.finished(sink, state)
        lost = publishing.lost_rows
        problem = (
            f"{lost} of the epoch's rows were damaged on the disk before they were published; "
            "the others are published"
            if lost
            else ""
        )
        values = (sink, state.epoch, publishing.decision.rows - lost)
        return [asked.answer(*values, problem=problem) for asked in publishing.waiting]

    def needed_ticks(self) -> list[Tick]:
        """Where the rows of epochs that are being published stand in the staging log."""
        return [low for each in self._publishing.values() for low, _ in each.decision.pieces]

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Try again what was refused."""
        for sink in [sink for sink, at in self.retries.items() if at <= now]:
            self.advance(sink, now, out)
