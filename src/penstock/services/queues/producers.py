"""What producers send to one broker, for queues here or on other brokers.

A producer's ``queue`` may be ``name@broker``: then this broker relays the message and the other
broker answers (penstock.services.queues.relays).
"""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect
from penstock.services.queues.admission import FromClient, objection
from penstock.services.queues.hosted import HostedQueues
from penstock.services.queues.messages import OpenSender, SenderOpened, SendRefused, SendToQueue
from penstock.services.queues.queue.senders import ClientSender
from penstock.services.queues.relays import MOST_WAITING, RelayedSends
from penstock.services.queues.replies import answer_client
from penstock.services.queues.routing import Routes


class Producers:
    """Passes what producers send to a queue of this broker, or to another broker."""

    def __init__(self, hosted: HostedQueues, relays: RelayedSends, routes: Routes) -> None:
        self._hosted = hosted
        self._relays = relays
        self._routes = routes

    def handle(
        self, sender: ClientSender, message: FromClient, now: Instant, out: list[Effect]
    ) -> None:
        """Take rows, or the request to open a sender."""
        name, _, elsewhere = message.queue.partition("@")
        broker = self._routes.broker
        if elsewhere and elsewhere != broker:
            problem = self._relay(sender, message, elsewhere, now, out)
        else:
            problem = self._to_queue(sender, message, name, now, out)
        if problem:
            self._refuse(sender, message, problem, out)

    def _relay(
        self,
        sender: ClientSender,
        message: FromClient,
        target: str,
        now: Instant,
        out: list[Effect],
    ) -> str:
        """Relay to another broker; returns why that is not possible."""
        if sender.via or not self._routes.is_reachable(target):
            return f"broker {target!r} cannot be reached from {self._routes.broker!r}"
        return self._relays.send(sender.session, message, target, now, out)

    def _to_queue(
        self,
        sender: ClientSender,
        message: FromClient,
        name: str,
        now: Instant,
        out: list[Effect],
    ) -> str:
        """Pass to a queue of this broker; returns why that is not possible."""
        queue = self._hosted.find(name)
        if queue is None:
            return self._hosted.no_such_queue(name)
        if isinstance(message, OpenSender):
            if queue.waiting_requests >= MOST_WAITING:
                return "the broker is still starting; retry later"
            queue.open_sender(sender, message, now, out)
        else:
            problem = objection(message)
            if problem:
                return problem
            queue.send(sender, message, now, out)
        self._hosted.changed(queue)
        return ""

    def _refuse(
        self, sender: ClientSender, message: FromClient, problem: str, out: list[Effect]
    ) -> None:
        refusal: SenderOpened | SendRefused
        if isinstance(message, SendToQueue):
            first, count = message.first_sequence, len(message.batch)
            refusal = SendRefused(message.producer, message.queue, first, count, problem)
        else:
            refusal = SenderOpened(message.producer, message.queue, 0, problem)
        answer_client(sender, refusal, self._routes.broker, out)
