"""Takes publications into a pubend's stream, at the rate that is allowed.

1. A publication that fits the limits below is stored at once, if nothing waits, the admission gate
   is open and the broker's links are not full (``link_gate``); otherwise it waits for its turn
   (``waiting_publications``).
2. Refused are: more than ``submit_limit_bytes`` that wait or are in flight to the disk, more than
   its share of that by one publisher, and rows for a log that is full and may not be trimmed.
3. A repeat of stored rows is never refused: its publisher must not be told that they are lost.  Of
   a publication that repeats some rows only the new ones are stored.
4. After a failed sync the pubend is closed, and nothing is even tried (``stream_writer``).
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.mechanisms.sequence_table import SequenceTable
from penstock.services.guaranteed.messages import Publish, PublishRefused
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.admission import Admission
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.link_gate import LinkGate
from penstock.services.guaranteed.source.log_retention import LogRetention
from penstock.services.guaranteed.source.recovery import Recovery
from penstock.services.guaranteed.source.stream_writer import StreamWriter
from penstock.services.guaranteed.source.waiting_publications import SHARE, WaitingPublications


class Publishing:
    """The way of publications into one stream."""

    def __init__(
        self,
        name: str,
        parameters: GuaranteedParameters,
        *,
        producers: SequenceTable,
        recovery: Recovery,
        admission: Admission,
        links: LinkGate,
        writer: StreamWriter,
        retention: LogRetention,
        holds: Holds,
    ) -> None:
        self._name = name
        self._parameters = parameters
        self._producers = producers
        self._recovery = recovery
        self._admission = admission
        self._links = links
        self._writer = writer
        self._retention = retention
        self._holds = holds
        self._waiting = WaitingPublications()
        self._held_by_links = False

    @property
    def waiting(self) -> int:
        """How many publications wait for the rate that is allowed."""
        return len(self._waiting)

    @property
    def waits_for_the_gate(self) -> bool:
        """Whether publications wait for the allowed rate alone."""
        return bool(self._waiting) and self._recovery.ready and not self._held_by_links

    def publish(self, session: LinkName, message: Publish, now: Instant, out: list[Effect]) -> None:
        """Accept a publication; it is stored as soon as the allowed rate permits."""
        if self._writer.closed_because:
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
        if self._waiting.weight + self._writer.pending_bytes + weight > limit:
            reason = "the broker's publish buffer is full; retry later"
        elif waiting and (waiting + weight) * SHARE > limit:
            reason = (
                f"{waiting} bytes of {message.producer!r} wait to be published, a quarter of "
                "submit_limit_bytes, which is its share; wait for receipts"
            )
        elif self._retention.is_full(weight):
            reason = (
                f"the log of pubend {self._name!r} has reached log_limit_bytes "
                f"({parameters.log_limit_bytes}) and may not be trimmed: "
                f"{self._holds.describe_lowest()}"
            )
        if reason and not self._is_repeat(message):
            self._refuse(session, message, reason, out)
            return
        if not self._waiting and self._may_store(now):
            # The usual case: nothing waits, and nothing limits the pubend.
            self._store(session, message, 0, now, out)
            return
        self._waiting.add(session, message, now)
        self.admit(now, out)

    def _is_repeat(self, message: Publish) -> bool:
        """Whether some of the rows are stored."""
        first, count = message.first_sequence, len(message.batch)
        fresh = self._producers.new_numbers(message.producer, first, count)
        return fresh != [(first, first + count)]

    def admit(self, now: Instant, out: list[Effect]) -> None:
        """Store the waiting publications that may pass now."""
        while self._waiting and self._may_store(now):
            session, message, since = self._waiting.next()
            self._store(session, message, now - since, now, out)

    def _may_store(self, now: Instant) -> bool:
        if not self._recovery.ready or not self._admission.may_pass(now):
            return False
        unsent = self._writer.pending_bytes
        self._held_by_links = not self._links.takes(unsent, now)
        return not self._held_by_links and now >= self._links.holds_until()

    def producer_left(self, session: LinkName, producer: str) -> None:
        """Drop what waits of a publisher that is gone, or that another one replaced.

        It has no receipt for any of it and sends it again when it is back.  If it were stored now,
        a refusal that the publisher does not hear could leave a gap that is filled out of order.
        """
        self._waiting.forget(session, producer)

    def _store(
        self, session: LinkName, message: Publish, waited: Duration, now: Instant, out: list[Effect]
    ) -> None:
        producer, first, count = message.producer, message.first_sequence, len(message.batch)
        if self._writer.closed_because:
            self._decline(session, message, out)
            return
        fresh = self._producers.new_numbers(producer, first, count)
        append = self._writer.append
        if fresh == [(first, first + count)]:
            append(message.batch, producer, first, session, waited, now, out)
            return
        for low, high in fresh:
            part = message.batch.slice(low - first, high - first)
            append(part, producer, low, None, 0, now, out)
        self._writer.repeat(producer, first, count, session, waited, now, out)

    def _refuse(self, session: LinkName, message: Publish, reason: str, out: list[Effect]) -> None:
        count = len(message.batch)
        refusal = PublishRefused(message.producer, message.first_sequence, count, reason)
        out.append(Send(session, refusal, Priority.CONTROL))

    def _decline(self, session: LinkName, message: Publish, out: list[Effect]) -> None:
        """Answer a publication to a pubend that is closed."""
        producer, first, count = message.producer, message.first_sequence, len(message.batch)
        unsure = self._writer.is_unsure(producer, first, count)
        reason = (
            f"pubend {self._name!r} takes nothing more until the broker is started again: "
            f"{self._writer.closed_because}"
        )
        refusal = PublishRefused(producer, first, count, reason, unsure)
        out.append(Send(session, refusal, Priority.CONTROL))
