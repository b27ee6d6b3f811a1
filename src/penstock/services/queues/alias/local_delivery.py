"""What queues and alias queues of one broker say to each other that no other broker can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Send
from penstock.core.message import Message
from penstock.services.queues.administration import Administration, Hosted
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.messages import (
    DeadLetter,
    HandedOver,
    HandOver,
    LetterBuried,
    Remembered,
)
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.queue.senders import HANDOVERS


class Inside:
    """Delivers dead letters, and rows that are handed over, and the answers to both."""

    def __init__(
        self,
        queues: Mapping[str, Queue],
        aliases: Mapping[str, AliasQueue],
        administration: Administration,
        touched: Callable[[Hosted], None],
    ) -> None:
        """``touched`` is told of every queue to which something was said."""
        self._queues = queues
        self._aliases = aliases
        self._administration = administration
        self._touched = touched

    def letter(self, message: Message, now: Instant, out: list[Effect]) -> None:
        """Between a queue and its dead-letter queue."""
        if isinstance(message, DeadLetter):
            target = self._queues[message.target]
            target.bury_letter(message, now, out)
            self._touched(target)
        elif isinstance(message, LetterBuried):
            queue = self._queues[message.queue]
            queue.letter_buried(message.intervals, message.failure, now, out)
            self._touched(queue)

    def handover(self, message: Message, now: Instant, out: list[Effect]) -> None:
        """Between an alias queue and a queue."""
        if isinstance(message, HandedOver):
            alias = self._aliases[message.alias]
            alias.handover_answered(message, now, out)
            self._touched(alias)
        elif isinstance(message, Remembered):
            if message.queue in self._queues:
                self._queues[message.queue].rows.handed.remembered(message.alias, message.below)
        elif isinstance(message, HandOver):
            self._hand_over(message, now, out)

    def _hand_over(self, message: HandOver, now: Instant, out: list[Effect]) -> None:
        queue = self._queues.get(message.queue)
        if queue is None:
            problem = self._administration.no_such_queue(message.queue)
            count = len(message.batch)
            refusal = HandedOver(message.alias, message.queue, message.low, count, problem)
            out.append(Send(HANDOVERS, refusal))
        else:
            queue.hand_over(message, now, out)
            self._touched(queue)
