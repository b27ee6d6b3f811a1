"""No message that the gate lets through makes a broker's machine raise.

Every message type, with contents that keep to the limits and are otherwise lies, from clients and
from a neighbour, into a broker that has state to be confused about.  A violation prints its seed.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import LinkDown, LinkUp, Received, SessionClosed, SessionOpened
from penstock.core.message import BrokerMessage, ClientRequest
from penstock.net.broker.config import Limits
from penstock.net.broker.ingress import Breach, Ingress, Refused, check_neighbour
from penstock.net.broker.server import OPERATIONS
from penstock.overlay.messages import DatagramPort, LinkState
from penstock.overlay.node import node_config
from penstock.overlay.wire import vocabulary
from penstock.services.guaranteed.messages import OpenProducer, Subscribe
from penstock.services.multicast.messages import JoinGroup, OpenGroupSender
from penstock.services.queues.messages import OpenSender, Receive
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.sim.world import SimWorld

from .lying_messages import Liar

SEEDS = 24
MESSAGES = 300

FROM_CLIENTS = sorted({*vocabulary(ClientRequest)} - OPERATIONS, key=lambda kind: kind.__name__)
FROM_NEIGHBOURS = sorted(
    {*vocabulary(BrokerMessage)} - {DatagramPort},
    key=lambda kind: kind.__name__,
)
NEIGHBOURS = ("sb", "ib")
CLIENTS = ("client/1", "client/2")


class Attacked:
    """A broker with clients and neighbours, of which nobody is honest for long."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.liar = Liar(self.random)
        self.ingress = Ingress(Limits())
        self.world = SimWorld(seed, checked=True)
        self.world.add_broker(
            node_config(
                "pb",
                dict.fromkeys(NEIGHBOURS, 1),
                pubends=("pb.1",),
                queues=(QueueConfig("q1"), QueueConfig("q2")),
                aliases=(AliasConfig("al", ("q1@pb", "q2@sb")),),
            )
        )
        self.world.start()
        for link in NEIGHBOURS:
            self.tell(LinkUp(link))
            state = LinkState(link, self.world.now, 1, {"pb": 1}, (f"{link}.1",))
            self.tell(Received(link, state))
        for session in CLIENTS:
            self.open(session)
        self.world.run_for(SECOND)

    def open(self, session: str) -> None:
        self.tell(SessionOpened(session))
        for message in (
            OpenProducer("n1"),
            Subscribe("n1", "a = 1", window_bytes=1 << 20),
            Subscribe("n2", "", durable=True, start="earliest", window_bytes=1 << 20),
            OpenSender("n1", "q1"),
            Receive("n1", "q1", "", 10),
            OpenGroupSender("n1"),
            JoinGroup("n1", "n2", 1 << 20),
        ):
            self.tell(Received(session, message))

    def tell(self, fact: Any) -> None:
        self.world._tell_broker("pb", fact)

    def lie(self) -> None:
        random = self.random
        if random.random() < 0.5:
            session = random.choice(CLIENTS)
            message = self.liar.message(random.choice(FROM_CLIENTS))
            try:
                self.tell(Received(session, self.ingress.check_client(message)))
            except Refused:
                pass
            except Breach:
                self.tell(SessionClosed(session))
                self.open(session)
            return
        link = random.choice(NEIGHBOURS)
        message = self.liar.message(random.choice(FROM_NEIGHBOURS))
        try:
            check_neighbour(message)
            self.tell(Received(link, message))
        except Breach:
            self.tell(LinkDown(link))
            self.tell(LinkUp(link))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_broker_survives_every_lie(seed: int) -> None:
    attacked = Attacked(seed)
    for _ in range(MESSAGES):
        attacked.lie()
        if attacked.random.random() < 0.1:
            attacked.world.run_for(attacked.random.choice((MILLISECOND, 100 * MILLISECOND)))
    attacked.world.run_for(15 * SECOND)
    attacked.world.crash("pb")
    attacked.world.restart("pb")
    attacked.world.run_for(3 * SECOND)


def test_every_message_between_brokers_is_tried() -> None:
    assert len(FROM_NEIGHBOURS) > 20
    assert not set(FROM_NEIGHBOURS) & {*vocabulary(ClientRequest)}
