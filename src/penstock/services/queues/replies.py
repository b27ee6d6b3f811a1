"""Answers to senders: to a client, directly or through the broker that relayed its rows, and to an
alias queue whose destination does not exist."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.log.append import Answer
from penstock.services.queues.messages import (
    Decision,
    Forward,
    ForwardRefused,
    Monitor,
    MonitorReport,
    RelayedReply,
    Routed,
    SenderOpened,
    SendReceipt,
    SendRefused,
)
from penstock.services.queues.queue.senders import ROUTE, ClientSender, Sender


def client_reply(sender: ClientSender, answer: Answer[Sender]) -> SendReceipt | SendRefused:
    """The answer in the client's terms."""
    producer, first, count = sender.producer, answer.first_sequence, answer.count
    if answer.failure:
        return SendRefused(
            producer, sender.queue, first, count, answer.failure, uncertain=answer.uncertain
        )
    return SendReceipt(producer, sender.queue, first, count, answer.first_position)


def answer_client(
    sender: ClientSender,
    reply: SendReceipt | SendRefused | SenderOpened,
    broker: str,
    out: list[Effect],
) -> None:
    """Say it to the session, or to the broker where the session is."""
    if sender.via:
        relayed = RelayedReply(broker, sender.via, sender.session, reply)
        out.append(Send(ROUTE, relayed, Priority.CONTROL))
    else:
        out.append(Send(sender.session, reply, Priority.CONTROL))


def refusal_of(
    message: Forward | Decision | Monitor, broker: str, reason: str, now: Instant
) -> Routed | None:
    """What an alias queue is told by a broker that has no such queue; decisions need no answer."""
    back, alias, queue = message.source, message.alias, message.queue
    if isinstance(message, Forward):
        ticks = message.frame.ticks
        intervals = ((int(ticks[0]), int(ticks[-1]) + 1),)
        return ForwardRefused(broker, back, alias, queue, intervals, reason)
    if isinstance(message, Monitor):
        return MonitorReport(
            broker,
            back,
            alias,
            queue,
            iteration=message.iteration,
            epoch=0,
            at=now,
            load=0,
            consumed=0,
            busy_ns=0,
            consumers=0,
            watchers=0,
            problem=reason,
        )
    return None
