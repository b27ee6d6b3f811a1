"""What clients here send to a queue on another broker, until the answer has come.

1. Nothing of it is stored here: the client keeps it until it hears the receipt, and so does this
   broker, in memory.
2. A link that breaks on the way loses it, or its answer.  It is sent again when there is a way
   again, and when no answer came for long; the queue knows producers' numbers and stores each once.
3. Only the first answer goes to the client.
4. What waits so is bounded; beyond the bound the client is refused and told why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.services.queues.messages import (
    OpenSender,
    RelayedReply,
    RelayedSend,
    SenderOpened,
    SendReceipt,
    SendRefused,
    SendToQueue,
)
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.queue.senders import ROUTE

Key: TypeAlias = tuple[LinkName, str, str, int]
"""Session, producer, queue and first number; the question where a producer stands has none."""

NO_NUMBER: Final = -1

MOST_WAITING: Final = 100_000
"""Messages that wait for another broker's answer; questions have no bytes to be counted."""


class _Waiting:
    """A message without an answer, and when it was sent last."""

    __slots__ = ("message", "sent_at", "weight_bytes")

    def __init__(self, message: RelayedSend, now: Instant) -> None:
        self.message = message
        self.sent_at = now
        send = message.send
        self.weight_bytes = send.batch.wire_size if isinstance(send, SendToQueue) else 0


class Relays:
    """Everything that one broker passes on for its own clients."""

    def __init__(self, broker: str, parameters: QueueParameters) -> None:
        """Nothing is under way."""
        self._broker = broker
        self._limit_bytes = parameters.submit_limit_bytes
        self._repeat_ns = parameters.forward_timeout_ns
        self._waiting: dict[Key, _Waiting] = {}
        self._bytes = 0

    def send(
        self,
        session: LinkName,
        message: SendToQueue | OpenSender,
        target: str,
        now: Instant,
        out: list[Effect],
    ) -> str:
        """Pass a client's message on; why that is not possible, or nothing."""
        waiting = _Waiting(RelayedSend(self._broker, target, session, message), now)
        if self._bytes and self._bytes + waiting.weight_bytes > self._limit_bytes:
            return (
                f"{self._bytes} bytes for queues on other brokers wait for their answer, the most "
                f"allowed; send more slowly, or use an alias queue"
            )
        key = _key(session, message)
        self._forget(key)
        if len(self._waiting) >= MOST_WAITING:
            return f"{MOST_WAITING} requests to other brokers wait for their answer; retry later"
        self._waiting[key] = waiting
        self._bytes += waiting.weight_bytes
        out.append(Send(ROUTE, waiting.message, Priority.DATA))
        return ""

    def replied(self, message: RelayedReply, out: list[Effect]) -> None:
        """An answer; one that was given before is dropped."""
        if self._forget(_key(message.session, message.reply)):
            out.append(Send(message.session, message.reply, Priority.CONTROL))

    def _forget(self, key: Key) -> bool:
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self._bytes -= waiting.weight_bytes
        return waiting is not None

    def ways_found(self, targets: Collection[str], now: Instant, out: list[Effect]) -> None:
        """There is a way to these brokers again, or another one: what they got may be lost."""
        for key, waiting in list(self._waiting.items()):
            if waiting.message.destination in targets:
                self._repeat(key, now, out)

    def _repeat(self, key: Key, now: Instant, out: list[Effect]) -> None:
        # Behind all others: they stay in the order of their sending.
        waiting = self._waiting[key] = self._waiting.pop(key)
        waiting.sent_at = now
        out.append(Send(ROUTE, waiting.message, Priority.DATA))

    def session_closed(self, session: LinkName) -> None:
        """Nobody waits for these answers any more: the client sends again when it is back."""
        for key in [each for each in self._waiting if each[0] == session]:
            self._forget(key)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Send again what was not answered for long."""
        for key, waiting in list(self._waiting.items()):
            if now < waiting.sent_at + self._repeat_ns:
                return
            self._repeat(key, now, out)

    def next_deadline(self) -> Instant | None:
        """When that is."""
        for waiting in self._waiting.values():
            return waiting.sent_at + self._repeat_ns
        return None


def _key(
    session: LinkName,
    message: SendToQueue | OpenSender | SendReceipt | SendRefused | SenderOpened,
) -> Key:
    number = NO_NUMBER
    if not isinstance(message, OpenSender | SenderOpened):
        number = message.first_sequence
    return session, message.producer, message.queue, number


def changed_ways(before: Mapping[str, LinkName], after: Mapping[str, LinkName]) -> set[str]:
    """The brokers to which the first link is another one than before, or there is one at last."""
    return {broker for broker, link in after.items() if before.get(broker) != link}
