"""RelayedSends what clients of this broker send to queues on other brokers.

1. Nothing is stored here: the client keeps its rows until it gets the receipt, and so does this
   broker, in memory.
2. A link that breaks on the way loses a message or its answer.  The message is sent again when
   there is a route again, and when no answer has arrived for a long time; the queue recognises the
   producer's numbers and stores each row once.
3. Only the first answer goes to the client.
4. The unanswered messages are bounded; beyond the bound the client is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection
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
from penstock.services.queues.routing import SendToBroker

Key: TypeAlias = tuple[LinkName, str, str, int]
"""Session, producer, queue and first sequence number; ``OpenSender`` has no number."""

NO_NUMBER: Final = -1

MOST_WAITING: Final = 100_000
"""Messages that wait for another broker's answer; ``OpenSender`` has no bytes to be counted."""


class _UnansweredSend:
    """A message without an answer, and when it was sent last."""

    __slots__ = ("message", "sent_at", "weight_bytes")

    def __init__(self, message: RelayedSend, now: Instant) -> None:
        self.message = message
        self.sent_at = now
        send = message.send
        self.weight_bytes = send.batch.wire_size if isinstance(send, SendToQueue) else 0


class RelayedSends:
    """The unanswered messages that one broker relays for its clients."""

    def __init__(self, broker: str, parameters: QueueParameters) -> None:
        self._broker = broker
        self._limit_bytes = parameters.submit_limit_bytes
        self._repeat_ns = parameters.forward_timeout_ns
        self._waiting: dict[Key, _UnansweredSend] = {}
        self._bytes = 0

    def send(
        self,
        session: LinkName,
        message: SendToQueue | OpenSender,
        target: str,
        now: Instant,
        out: list[Effect],
    ) -> str:
        """Relay a client's message; returns why it is refused, or an empty string."""
        waiting = _UnansweredSend(RelayedSend(self._broker, target, session, message), now)
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
        out.append(SendToBroker(waiting.message, Priority.DATA))
        return ""

    def replied(self, message: RelayedReply, out: list[Effect]) -> None:
        """Pass an answer to the client; a second answer is dropped."""
        if self._forget(_key(message.session, message.reply)):
            out.append(Send(message.session, message.reply, Priority.CONTROL))

    def _forget(self, key: Key) -> bool:
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self._bytes -= waiting.weight_bytes
        return waiting is not None

    def routes_changed(self, targets: Collection[str], now: Instant, out: list[Effect]) -> None:
        """Repeat what these brokers were sent: they have a new route, so it may be lost."""
        for key, waiting in list(self._waiting.items()):
            message = waiting.message
            if message.destination in targets:
                self._repeat(key, now, out)

    def _repeat(self, key: Key, now: Instant, out: list[Effect]) -> None:
        # Moved behind all others: they stay in the order in which they were sent.
        waiting = self._waiting[key] = self._waiting.pop(key)
        waiting.sent_at = now
        out.append(SendToBroker(waiting.message, Priority.DATA))

    def session_closed(self, session: LinkName) -> None:
        """Forget the messages of a client that is gone: it sends them again when it is back."""
        for key in [each for each in self._waiting if each[0] == session]:
            self._forget(key)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat messages that have waited too long for an answer."""
        for key, waiting in list(self._waiting.items()):
            if now < waiting.sent_at + self._repeat_ns:
                return
            self._repeat(key, now, out)

    def next_deadline(self) -> Instant | None:
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
