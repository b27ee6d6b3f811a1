"""Whatever a broker stores on behalf of a client: what the client hears when the disk fails.

A request whose order to the store failed before anything was written is refused.  One whose sync
failed may be stored all the same: the answer says so with a code, for every kind of request.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    Persist,
    Persisted,
    PersistFailed,
    PersistState,
    Received,
    Send,
    SessionOpened,
)
from penstock.core.message import Message
from penstock.overlay.node import BrokerNode, node_config
from penstock.services.guaranteed import messages as guaranteed
from penstock.services.guaranteed.staging import messages as staging
from penstock.services.queues import messages as queues
from penstock.services.queues.parameters import AliasConfig, QueueConfig

NOW = 1_000 * SECOND
CLIENT = "client/1"
ROWS = Batch.from_rows([({"n": 1}, b"x")])

REQUESTS: dict[str, tuple[list[Message], Message]] = {
    "publish": ([guaranteed.OpenProducer("a")], guaranteed.Publish("a", 0, ROWS)),
    "durable subscription": ([], guaranteed.Subscribe("d", "", durable=True)),
    "deletion of a durable subscription": (
        [guaranteed.Subscribe("d", "", durable=True)],
        guaranteed.Unsubscribe("d", forget=True),
    ),
    "cursor": ([], guaranteed.MoveCursor("c", {"b.1": 5})),
    "staged rows": ([], staging.StageRows("s", 1, "part", 0, ROWS)),
    "commit of stages": (
        [staging.StageRows("s", 1, "part", 0, ROWS)],
        staging.CommitStages("s", 1, (("part", 1),)),
    ),
    "queue": ([queues.OpenSender("a", "q")], queues.SendToQueue("a", "q", 0, ROWS)),
    "alias queue": (
        # With the first rows it reserves positions; from then on rows are left to its queue.
        [queues.OpenSender("a", "all"), queues.SendToQueue("a", "all", 0, ROWS)],
        queues.SendToQueue("a", "all", 1, ROWS),
    ),
    "stored in an alias queue": (
        [queues.OpenSender("a", "far")],
        queues.SendToQueue("a", "far", 0, ROWS),
    ),
    "destinations": ([], queues.ChangeDestination("far", "q@elsewhere", True, request=1)),
}
"""What comes before, and the request."""


class Broker:
    """A broker whose orders to the store the test answers."""

    def __init__(self) -> None:
        config = node_config(
            name="b",
            pubends=("b.1",),
            queues=(QueueConfig("q"),),
            aliases=(
                AliasConfig("all", ("q@b",)),
                AliasConfig("far", ("q@elsewhere", "r@elsewhere")),
            ),
            trace_interval_ns=0,
        )
        self.node = BrokerNode(config, saved={}, logs={}, now=NOW)
        self.orders: list[int] = []
        self.said: list[Any] = []
        self.appends = 0
        self.take(self.node.start(now=NOW))
        self.tell(SessionOpened(CLIENT))
        self.settle()

    def take(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Persist | PersistState):
                self.orders.append(effect.token)
                self.appends += isinstance(effect, Persist)
            elif isinstance(effect, Send) and effect.link == CLIENT:
                self.said.append(effect.message)

    def tell(self, fact: Any) -> None:
        self.take(self.node.handle(fact, now=NOW))

    def settle(self) -> None:
        """Let the disk do everything that it was told to."""
        while self.orders:
            self.tell(Persisted(self.orders.pop(0)))

    def fail(self, *, uncertain: bool) -> list[Any]:
        """The disk fails whatever it was told to do; what the client hears of it."""
        self.said.clear()
        orders, self.orders = self.orders, []
        for token in orders:
            self.tell(PersistFailed(token, "EIO", uncertain))
        return self.said


@pytest.mark.parametrize("uncertain", [False, True])
@pytest.mark.parametrize("kind", REQUESTS)
def test_the_answer_says_whether_it_may_be_stored_all_the_same(kind: str, uncertain: bool) -> None:
    before, request = REQUESTS[kind]
    broker = Broker()
    for message in before:
        broker.tell(Received(CLIENT, message))
        broker.settle()
    broker.tell(Received(CLIENT, request))
    assert broker.orders, "the request is not stored, and does not belong here"
    answers = broker.fail(uncertain=uncertain)
    if kind == "alias queue" and not uncertain:
        # The rows were left to a queue that refused them: the alias queue stores them itself.
        assert answers == []
        answers = broker.fail(uncertain=False)
    (answer,) = answers
    assert answer.uncertain is uncertain
    assert "EIO" in getattr(answer, "reason", "") + getattr(answer, "problem", "")


@pytest.mark.parametrize("kind", ["publish", "queue", "alias queue", "stored in an alias queue"])
def test_a_repeat_of_rows_that_may_be_stored_is_neither_stored_nor_refused(kind: str) -> None:
    before, request = REQUESTS[kind]
    broker = Broker()
    for message in before:
        broker.tell(Received(CLIENT, message))
        broker.settle()
    broker.tell(Received(CLIENT, request))
    broker.fail(uncertain=True)
    broker.said.clear()
    broker.appends = 0
    broker.tell(Received(CLIENT, request))
    (answer,) = broker.said
    assert answer.uncertain
    assert not broker.appends
