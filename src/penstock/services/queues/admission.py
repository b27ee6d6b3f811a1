"""Admission of what clients send to a queue or an alias queue.

1. A queue that is full, or whose disk does not keep up, refuses rows and gives the reason.
2. Requests that arrive before the journal has been read wait for it: until then a repeat cannot be
   told from a new row.  What waits is bounded like what waits for the disk.
3. A name has one sender at a time (``sequence_table``).  A note in the journal says that
   another sender has taken a name over, before that sender is told that it may send: after a crash
   the earlier sender must not get the name back, since its numbers stand for other rows.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, TypeAlias

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import Effect, PersistFailed
from penstock.services.queues.log.append import Appender
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import (
    HIGHEST_PRIORITY,
    DeadLetter,
    Forward,
    OpenSender,
    SenderEntry,
    SenderOpened,
    SendRefused,
    SendToQueue,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.queue.senders import ClientSender, Sender
from penstock.services.queues.replies import answer_client

LONGEST_NAME: Final = 512
"""Characters of a producer's or consumer's name: it is kept for as long as it is remembered."""

LARGEST_NUMBER: Final = 2**62
"""Sequence numbers and times to live stay below this, so that no sum of them leaves 64 bits."""

TAKEN_OVER: Final = (
    "another sender named {name!r} was opened after this one; give each its own name"
)

FromClient: TypeAlias = SendToQueue | OpenSender


class AdmissionRequest(msgspec.Struct, frozen=True, gc=False):
    """A message of a client, and when its rows expire (0: never)."""

    sender: ClientSender
    message: FromClient
    expires_at: Instant = 0


WaitingRequest: TypeAlias = AdmissionRequest | Forward | DeadLetter
"""What has to wait until the journal has been read."""


class Explains(Protocol):
    """The queue that an admission belongs to."""

    def explain(self, now: Instant) -> str:
        """Why its messages wait, in a sentence."""
        ...


def objection(message: SendToQueue) -> str:
    """Why a request to send is invalid, whatever queue it is for; empty if it is valid."""
    if not 0 <= message.priority <= HIGHEST_PRIORITY:
        return f"priority {message.priority} is not one of 0 to {HIGHEST_PRIORITY}"
    if not 0 <= message.time_to_live_ns < LARGEST_NUMBER:
        return f"a time to live of {message.time_to_live_ns} ns is not possible"
    if not 0 <= message.first_sequence < LARGEST_NUMBER:
        return f"sequence number {message.first_sequence} is not possible"
    if len(message.producer) > LONGEST_NAME:
        return f"a producer's name is longer than {LONGEST_NAME} characters"
    return "" if len(message.batch) else "there are no messages to send"


class QueueAdmission:
    """Decides what one queue or alias queue accepts from clients, and when."""

    def __init__(
        self,
        broker: str,
        config: QueueConfig | AliasConfig,
        submit_limit_bytes: int,
        journal: Journal,
        entries: Entries,
        appender: Appender[Sender],
        owner: Explains,
    ) -> None:
        """``owner`` explains why a full queue is full."""
        self._broker = broker
        self._config = config
        self._submit_limit_bytes = submit_limit_bytes
        self._journal = journal
        self._origins = journal.origins
        self._instances = self._origins.instances
        self._entries = entries
        self._appender = appender
        self._owner = owner
        self._opening: dict[int, tuple[ClientSender, OpenSender]] = {}
        self._waiting: deque[WaitingRequest] = deque()
        self._waiting_bytes = 0

    # -- rows -------------------------------------------------------------------------------

    def refusal(self, sender: ClientSender, message: SendToQueue, now: Instant) -> str:
        """Why rows are refused as soon as they arrive; empty if they are not."""
        first, count = message.first_sequence, len(message.batch)
        if self._origins.forgotten(sender.origin, first):
            return (
                f"sequence number {first} lies below gaps in the numbers of "
                f"{message.producer!r} that are too many to remember; go on with new numbers"
            )
        problem = self.no_room(count, message.batch.wire_size, now)
        if problem and not self._appender.may_be_repeat(sender.origin, first, count):
            return problem
        return ""

    def no_room(self, count: int, weight_bytes: int, now: Instant) -> str:
        """Why rows of this number and size cannot be stored; empty if they can."""
        config, appender, entries = self._config, self._appender, self._entries
        if appender.pending_bytes + self._waiting_bytes > self._submit_limit_bytes:
            return "the broker's disk does not keep up; send more slowly or retry later"
        rows, held_bytes = entries.rows + appender.pending_rows, entries.bytes
        too_many = rows + count > config.depth_limit_messages
        if too_many or held_bytes + weight_bytes > config.depth_limit_bytes:
            limit = "depth_limit_messages" if too_many else "depth_limit_bytes"
            return (
                f"{config.name!r} is full ({limit}): it holds {rows} messages, {held_bytes} bytes; "
                f"{self._owner.explain(now)}"
            )
        return ""

    def refuse(
        self,
        sender: ClientSender,
        message: SendToQueue,
        reason: str,
        out: list[Effect],
        *,
        taken_over: bool = False,
    ) -> None:
        """Tell a client that its rows were not stored."""
        first, count = message.first_sequence, len(message.batch)
        refusal = SendRefused(message.producer, sender.queue, first, count, reason, taken_over)
        answer_client(sender, refusal, self._broker, out)

    def owns_name(self, sender: ClientSender, message: SendToQueue) -> bool:
        """Whether no other sender has taken the producer's name over."""
        if not self._instances.has(sender.origin, message.instance):
            return False
        if sender.origin not in self._origins:
            self._instances.note(sender.origin, message.instance)
        return True

    # -- before the journal has been read ---------------------------------------------------

    def must_wait(self, request: WaitingRequest) -> bool:
        """Whether the journal has not been read yet; then the request is kept until it has."""
        if self._journal.ready:
            return False
        self._waiting.append(request)
        if isinstance(request, AdmissionRequest) and isinstance(request.message, SendToQueue):
            batch = request.message.batch
            self._waiting_bytes += batch.wire_size
        return True

    @property
    def waiting(self) -> int:
        """How many requests wait until the journal has been read."""
        return len(self._waiting)

    def take_waiting(self) -> list[WaitingRequest]:
        """Remove and return the requests that waited for the journal."""
        waiting, self._waiting = list(self._waiting), deque()
        self._waiting_bytes = 0
        return waiting

    # -- names ------------------------------------------------------------------------------

    def open_sender(self, sender: ClientSender, message: OpenSender, out: list[Effect]) -> None:
        """Give a sender its name and tell it where to continue, or refuse."""
        instances = self._instances
        origin, instance = sender.origin, message.instance
        same = instances.of(origin) == instance
        is_new = origin not in self._origins and not instances.of(origin)
        if not instances.take(origin, instance, resumes=message.resumes):
            reason = TAKEN_OVER.format(name=message.producer)
            refusal = SenderOpened(message.producer, message.queue, 0, reason, True)
            answer_client(sender, refusal, self._broker, out)
        elif same or is_new:
            self._opened(sender, message, "", out)
        else:
            note = SenderEntry(self._journal.note(), origin, instance)
            self._opening[self._journal.append(note, out)] = (sender, message)

    def resolved(self, token: int, failure: PersistFailed | None, out: list[Effect]) -> None:
        """Answer a sender whose name was written to the journal, if this order was one."""
        opening = self._opening.pop(token, None)
        if opening is not None:
            problem = "" if failure is None else failure.reason
            self._opened(*opening, problem, out)

    def _opened(
        self, sender: ClientSender, message: OpenSender, problem: str, out: list[Effect]
    ) -> None:
        """Tell a sender its first number that is not stored."""
        sequence = self._origins.next_sequence(sender.origin)
        opened = SenderOpened(message.producer, message.queue, sequence, problem)
        answer_client(sender, opened, self._broker, out)
