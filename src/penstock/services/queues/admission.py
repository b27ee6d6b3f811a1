"""The door of a queue or an alias queue: what clients send, and when it may come in.

1. A queue that is full, or whose disk does not keep up, refuses and says so.
2. What comes before the journal has been read waits for it: until then a repeat cannot be told from
   something new.  What waits so is bounded like what waits for the disk.
3. A name has one sender at a time (mechanisms/sequence_table.py).  That another one has it now is
   in the journal before its sender is told that it may send: after a crash the earlier one must not
   get the name back, since its numbers stand for other rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from penstock.core.clock import Instant
from penstock.core.machine import Effect, PersistFailed
from penstock.services.queues.log.append import Intake
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import (
    HIGHEST_PRIORITY,
    OpenSender,
    SenderEntry,
    SenderOpened,
    SendRefused,
    SendToQueue,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.services.queues.queue.senders import ClientSender, Sender
from penstock.services.queues.replies import answer_client

LONGEST_NAME: Final = 512
"""Characters of a producer's or consumer's name: it is kept for as long as it is remembered."""

LARGEST_NUMBER: Final = 2**62
"""Sequence numbers and times to live stay below this, so that no sum of them leaves 64 bits."""

TAKEN_OVER: Final = (
    "another sender named {name!r} was opened after this one; give each its own name"
)

Step: TypeAlias = Callable[[Instant, list[Effect]], None]


def objection(message: SendToQueue) -> str:
    """What is wrong with a request to send, whatever queue it is for; or nothing."""
    if not 0 <= message.priority <= HIGHEST_PRIORITY:
        return f"priority {message.priority} is not one of 0 to {HIGHEST_PRIORITY}"
    if not 0 <= message.time_to_live_ns < LARGEST_NUMBER:
        return f"a time to live of {message.time_to_live_ns} ns is not possible"
    if not 0 <= message.first_sequence < LARGEST_NUMBER:
        return f"sequence number {message.first_sequence} is not possible"
    if len(message.producer) > LONGEST_NAME:
        return f"a producer's name is longer than {LONGEST_NAME} characters"
    return "" if len(message.batch) else "there are no messages to send"


class Entrance:
    """The way in for clients."""

    def __init__(
        self,
        broker: str,
        config: QueueConfig | AliasConfig,
        parameters: QueueParameters,
        journal: Journal,
        entries: Entries,
        intake: Intake[Sender],
        *,
        give_answers: Step,
        explain: Callable[[Instant], str],
    ) -> None:
        """``explain`` says why a full queue is full."""
        self._broker = broker
        self._config = config
        self._submit_limit_bytes = parameters.submit_limit_bytes
        self._journal = journal
        self._entries = entries
        self._intake = intake
        self._give_answers = give_answers
        self._explain = explain
        self._opening: dict[int, tuple[ClientSender, OpenSender]] = {}
        self._waiting: deque[Step] = deque()
        self._waiting_bytes = 0

    def send(
        self, sender: ClientSender, message: SendToQueue, now: Instant, out: list[Effect]
    ) -> None:
        """A client's rows."""
        problem = self.no_room(len(message.batch), message.batch.wire_size, now)
        first, count = message.first_sequence, len(message.batch)
        if self._journal.origins.forgotten(sender.origin, first):
            reason = (
                f"sequence number {first} lies below gaps in the numbers of "
                f"{message.producer!r} that are too many to remember; go on with new numbers"
            )
            refusal = SendRefused(message.producer, sender.queue, first, count, reason)
            answer_client(sender, refusal, self._broker, out)
            return
        if problem and not self._intake.may_be_repeat(sender.origin, first, count):
            refusal = SendRefused(message.producer, sender.queue, first, count, problem)
            answer_client(sender, refusal, self._broker, out)
            return
        expires_at = now + message.time_to_live_ns if message.time_to_live_ns else 0
        self.when_ready(partial(self._take, sender, message, expires_at), now, out)
        if not self._journal.ready:
            self._waiting_bytes += message.batch.wire_size

    def no_room(self, count: int, weight_bytes: int, now: Instant) -> str:
        """Why so much more cannot be taken; or nothing."""
        config, intake = self._config, self._intake
        if intake.pending_bytes + self._waiting_bytes > self._submit_limit_bytes:
            return "the broker's disk does not keep up; send more slowly or retry later"
        rows, held_bytes = self._entries.rows + intake.pending_rows, self._entries.bytes
        too_many = rows + count > config.depth_limit_messages
        if too_many or held_bytes + weight_bytes > config.depth_limit_bytes:
            limit = "depth_limit_messages" if too_many else "depth_limit_bytes"
            return (
                f"{config.name!r} is full ({limit}): it holds {rows} messages, {held_bytes} bytes; "
                f"{self._explain(now)}"
            )
        return ""

    def _take(
        self,
        sender: ClientSender,
        message: SendToQueue,
        expires_at: Instant,
        now: Instant,
        out: list[Effect],
    ) -> None:
        instances = self._journal.origins.instances
        if not instances.has(sender.origin, message.instance):
            first, count = message.first_sequence, len(message.batch)
            reason = TAKEN_OVER.format(name=message.producer)
            refusal = SendRefused(message.producer, sender.queue, first, count, reason, True)
            answer_client(sender, refusal, self._broker, out)
            return
        if sender.origin not in self._journal.origins:
            instances.note(sender.origin, message.instance)
        self._intake.take(
            sender,
            sender.origin,
            message.first_sequence,
            message.batch,
            out,
            priority=message.priority,
            expires_at=expires_at,
        )
        self._journal.origins.bound_set(sender.origin)
        self._give_answers(now, out)

    def when_ready(self, step: Step, now: Instant, out: list[Effect]) -> None:
        """Do it now, or as soon as the journal was read."""
        if self._journal.ready:
            step(now, out)
        else:
            self._waiting.append(step)

    @property
    def waiting(self) -> int:
        """How many requests wait until the journal was read."""
        return len(self._waiting)

    def journal_read(self, now: Instant, out: list[Effect]) -> None:
        """Do what waited."""
        self._waiting_bytes = 0
        while self._waiting:
            self._waiting.popleft()(now, out)

    def open_sender(
        self, sender: ClientSender, message: OpenSender, now: Instant, out: list[Effect]
    ) -> None:
        """A client's sender wants its name, and to know where it stands."""
        self.when_ready(partial(self._open_sender, sender, message), now, out)

    def _open_sender(
        self, sender: ClientSender, message: OpenSender, now: Instant, out: list[Effect]
    ) -> None:
        origins = self._journal.origins
        origin, instance = sender.origin, message.instance
        same = origins.instances.of(origin) == instance
        is_new = origin not in origins and not origins.instances.of(origin)
        if not origins.instances.take(origin, instance, resumes=message.resumes):
            reason = TAKEN_OVER.format(name=message.producer)
            refusal = SenderOpened(message.producer, message.queue, 0, reason, True)
            answer_client(sender, refusal, self._broker, out)
        elif same or is_new:
            self._tell_where_it_stands(sender, message, "", out)
        else:
            note = SenderEntry(self._journal.note(), origin, instance)
            self._opening[self._journal.append(note, out)] = (sender, message)

    def resolved(self, token: int, failure: PersistFailed | None, out: list[Effect]) -> None:
        """The store answered; if it wrote down who has a name, that one may send."""
        opening = self._opening.pop(token, None)
        if opening is not None:
            problem = "" if failure is None else failure.reason
            self._tell_where_it_stands(*opening, problem, out)

    def _tell_where_it_stands(
        self, sender: ClientSender, message: OpenSender, problem: str, out: list[Effect]
    ) -> None:
        """The first number that is not stored."""
        sequence = self._journal.origins.next_sequence(sender.origin)
        opened = SenderOpened(message.producer, message.queue, sequence, problem)
        answer_client(sender, opened, self._broker, out)
