"""What producers say to one broker, for queues here or on other brokers.

A producer's ``queue`` may be ``name@broker``: then the broker where the client is passes its
messages on, and that broker answers (penstock.services.queues.relays).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName
from penstock.services.queues.administration import Administration, Hosted
from penstock.services.queues.admission import objection
from penstock.services.queues.messages import OpenSender, SenderOpened, SendRefused, SendToQueue
from penstock.services.queues.queue.senders import ClientSender
from penstock.services.queues.relays import MOST_WAITING, Relays
from penstock.services.queues.replies import answer_client


class Producers:
    """The way in for clients of one broker, and for those whose messages others pass on."""

    def __init__(
        self,
        broker: str,
        administration: Administration,
        relays: Relays,
        touched: Callable[[Hosted], None],
    ) -> None:
        """``touched`` is told of every queue to which something was sent."""
        self._broker = broker
        self._administration = administration
        self._touched = touched
        self.relays = relays

    def take(
        self,
        sender: ClientSender,
        message: SendToQueue | OpenSender,
        next_hops: Mapping[str, LinkName],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Rows, or the question where a producer stands."""
        name, _, elsewhere = message.queue.partition("@")
        hosted = self._administration.find(name)
        problem = ""
        if elsewhere and elsewhere != self._broker:
            if elsewhere in next_hops and not sender.via:
                problem = self.relays.send(sender.session, message, elsewhere, now, out)
                if not problem:
                    return
            else:
                problem = f"broker {elsewhere!r} cannot be reached from {self._broker!r}"
        elif hosted is None:
            problem = self._administration.no_such_queue(name)
        elif isinstance(message, SendToQueue):
            problem = objection(message)
        elif hosted.entrance.waiting >= MOST_WAITING:
            problem = "the broker is still starting; retry later"
        if problem or hosted is None:
            self._refuse(sender, message, problem, out)
        elif isinstance(message, OpenSender):
            hosted.entrance.open_sender(sender, message, now, out)
            self._touched(hosted)
        else:
            hosted.send(sender, message, now, out)
            self._touched(hosted)

    def _refuse(
        self,
        sender: ClientSender,
        message: SendToQueue | OpenSender,
        problem: str,
        out: list[Effect],
    ) -> None:
        refusal: SenderOpened | SendRefused
        if isinstance(message, OpenSender):
            refusal = SenderOpened(message.producer, message.queue, 0, problem)
        else:
            first, count = message.first_sequence, len(message.batch)
            refusal = SendRefused(message.producer, message.queue, first, count, problem)
        answer_client(sender, refusal, self._broker, out)
