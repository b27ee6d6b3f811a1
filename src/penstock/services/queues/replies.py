"""Answers to senders: to a client, directly or through the broker that relayed its rows, and to an
alias queue whose destination does not exist."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.log.append import AppendAnswer
from penstock.services.queues.messages import (
    Decision,
    Forward,
    ForwardRefused,
    HandedOver,
    HandOver,
    LoadQuestion,
    Monitor,
    MonitorReport,
    RelayedReply,
    SenderOpened,
    SendReceipt,
    SendRefused,
)
from penstock.services.queues.queue.senders import ClientSender, Sender
from penstock.services.queues.routing import SendToBroker, SendWithinBroker


def client_reply(sender: ClientSender, answer: AppendAnswer[Sender]) -> SendReceipt | SendRefused:
    """The message that tells a client what became of its rows."""
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
    """Send an answer to the client's session, or to the broker where the session is."""
    if sender.via:
        relayed = RelayedReply(broker, sender.via, sender.session, reply)
        out.append(SendToBroker(relayed))
    else:
        out.append(Send(sender.session, reply, Priority.CONTROL))


def refusal_of(
    message: Forward | Decision | Monitor | LoadQuestion | HandOver,
    broker: str,
    reason: str,
    now: Instant,
) -> Effect | None:
    """The answer to an alias queue whose destination does not exist.

    A decision needs none, nor does a question about load: no answer leaves the load unknown.
    """
    if isinstance(message, HandOver):
        count = len(message.batch)
        handed = HandedOver(message.alias, message.queue, message.low, count, reason)
        return SendWithinBroker(handed)
    back, alias, queue = message.source, message.alias, message.queue
    if isinstance(message, Forward):
        ticks = message.frame.ticks
        intervals = ((int(ticks[0]), int(ticks[-1]) + 1),)
        return SendToBroker(ForwardRefused(broker, back, alias, queue, intervals, reason))
    if isinstance(message, Monitor):
        report = MonitorReport(
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
        return SendToBroker(report)
    return None
