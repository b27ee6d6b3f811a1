"""An edge whose relay, clients and disk are played by the test."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.content.rows.frame import Frame
from penstock.core.machine import Effect, PersistFailed, PersistState, Send
from penstock.core.tokens import Tokens
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    ClaimsSaved,
    Delivery,
    DurableClaim,
    Knowledge,
    Subscribe,
    SubscriptionConfirmed,
    SubscriptionUpdate,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters

TREE = Tree("pb", "pb", "ib", (), 1, ("p",))
START = 1000


class Bench:
    """An edge with one source, whose relay is played by the test."""

    def __init__(self, saved: dict[str, bytes] | None = None, **parameters: Any) -> None:
        self.edge = Edge("sb", GuaranteedParameters(**parameters), Tokens(), saved or {}, 0)
        self.now = 0
        self.out: list[Effect] = []
        self.edge.trees_changed({"pb": TREE}, self.out)
        self.edge.overlay_settled(0, self.out)
        self.version = 0

    def path_changed(self) -> None:
        """The way to the source is another one."""
        self.edge.path_changed(TREE, self.now, self.out)

    def said(self, kind: type[Any]) -> list[Any]:
        """What was sent of a kind since the last time that anybody asked, and is now forgotten."""
        found = [
            effect.message
            for effect in self.out
            if isinstance(effect, Send) and isinstance(effect.message, kind)
        ]
        self.out = [
            effect
            for effect in self.out
            if not (isinstance(effect, Send) and isinstance(effect.message, kind))
        ]
        return found

    def ordered(self, kind: type[Any]) -> list[Any]:
        found = [effect for effect in self.out if isinstance(effect, kind)]
        self.out = [effect for effect in self.out if not isinstance(effect, kind)]
        return found

    def client(self, session: str, message: Any) -> None:
        """A client's message."""
        self.edge.handlers[type(message)](session, message, self.now, self.out)

    def relay(self, message: Any) -> None:
        """A message of the relay of the same broker."""
        self.edge.relay_handlers[type(message)](LOCAL_RELAY, message, self.now, self.out)

    def subscribe(self, name: str, selector: str = "TRUE", session: str = "c", **more: Any) -> None:
        message = Subscribe(name, selector, **more)
        self.client(session, message)
        self.edge.check_invariants()

    def confirm(self, tick: int = START, earliest: int = 0) -> None:
        updates = self.said(SubscriptionUpdate)
        self.version = updates[-1].version if updates else self.version
        word = SubscriptionConfirmed("pb", self.version, {"p": tick}, {"p": earliest})
        self.relay(word)
        self.edge.check_invariants()

    def hear(self, part: Frame, answer_for: str | None = None, *, more: bool = False) -> None:
        self.relay(Knowledge("p", part, answer_for, more))
        self.edge.check_invariants()

    def rows(self, subscription: str) -> list[int]:
        """The ticks of the rows that a subscriber was given."""
        return [
            int(tick)
            for effect in self.out
            if isinstance(effect, Send)
            and isinstance(effect.message, Delivery)
            and effect.message.subscription == subscription
            for tick in effect.message.frame.ticks
        ]

    def save(self, failure: str = "") -> None:
        """The disk does what was ordered, and what is ordered at once because of that."""
        self.deadline(self.now)
        for order in self.ordered(PersistState):
            failed = PersistFailed(order.token, failure) if failure else None
            self.edge.resolved(order.token, failed, self.now, self.out)
        self.edge.check_invariants()

    def claims_saved(self) -> None:
        """The source saves what was claimed, and confirms it where it was asked to."""
        for claim in self.said(Acknowledgement):
            if claim.confirm:
                answer = ClaimsSaved(claim.root, claim.edge, claim.epoch, claim.number)
                self.edge.claims_saved(answer, self.now, self.out)

    def deadline(self, now: int) -> None:
        self.now = now
        self.edge.deadline(now, self.out)
        self.edge.check_invariants()

    @classmethod
    def durable(cls, **parameters: Any) -> Bench:
        """An edge with a durable subscription that its source has confirmed."""
        bench = cls(**parameters)
        bench.subscribe("s", durable=True)
        bench.confirm()
        return bench

    def claims(self) -> list[dict[str, DurableClaim]]:
        """The durable claims that were stated since the last time."""
        return [statement.durable for statement in self.said(Acknowledgement)]


@pytest.fixture
def edge_bench() -> type[Bench]:
    """The class, to be made as the test needs it."""
    return Bench
