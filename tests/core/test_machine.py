"""The contract: facts and orders compare by value, and a machine is tested by one equality."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from penstock.core import machine
from penstock.core.clock import MILLISECOND, Instant
from penstock.core.machine import (
    CloseSession,
    DeadlineReached,
    Effect,
    Fact,
    InvariantBroken,
    LinkDown,
    LinkUp,
    LogRead,
    Machine,
    Persist,
    Persisted,
    PersistFailed,
    PersistState,
    Priority,
    QueuesMeasured,
    ReadLog,
    Received,
    Send,
    SessionClosed,
    SessionOpened,
    ToApplication,
    Trace,
    TrimLog,
)
from penstock.core.trace import TraceRecord

FACTS: list[Fact] = [
    Received("b1", "hello"),
    LinkUp("b1"),
    LinkDown("b1"),
    SessionOpened("client"),
    SessionClosed("client"),
    DeadlineReached(),
    Persisted(1),
    PersistFailed(1, "disk full"),
    LogRead(1, ("frame",), 10),
    QueuesMeasured({"b1": 7}),
]
ORDERS: list[Effect] = [
    Send("b1", "hello"),
    Persist(1, "log", "frame"),
    PersistState(1, {"cursor": b"9", "old": None}),
    ReadLog(1, "log", 0, 10, 1 << 20),
    TrimLog("log", 5),
    CloseSession("client", "told to"),
    Trace(TraceRecord(0, "b1", "link", "rate", 1.0)),
]


def test_every_fact_and_order_of_the_contract_is_tested_here() -> None:
    defined = {
        each
        for each in vars(machine).values()
        if isinstance(each, type)
        and issubclass(each, Fact | Effect)
        and each not in (Fact, Effect, ToApplication)
    }
    assert defined == {type(each) for each in [*FACTS, *ORDERS]}


@pytest.mark.parametrize("each", [*FACTS, *ORDERS], ids=lambda each: type(each).__name__)
def test_facts_and_orders_are_values(each: msgspec.Struct) -> None:
    fields = {name: getattr(each, name) for name in each.__struct_fields__}
    assert each == type(each)(**fields)
    for name in fields:
        with pytest.raises(AttributeError):
            setattr(each, name, None)


def test_all_are_distinct_even_where_their_fields_agree() -> None:
    about_one_link: list[Fact] = [LinkUp("b1"), LinkDown("b1"), SessionOpened("b1")]
    assert [about_one_link.index(each) for each in about_one_link] == [0, 1, 2]
    for place, each in enumerate([*FACTS, *ORDERS]):
        assert [*FACTS, *ORDERS].index(each) == place


def test_a_send_is_data_unless_it_says_otherwise() -> None:
    assert Send("b1", "hello") == Send("b1", "hello", Priority.DATA)
    assert Send("b1", "hello") != Send("b1", "hello", Priority.CONTROL)


def test_control_sorts_before_data() -> None:
    assert sorted([Priority.DATA, Priority.CONTROL]) == [Priority.CONTROL, Priority.DATA]


def test_a_broken_invariant_is_an_assertion() -> None:
    assert issubclass(InvariantBroken, AssertionError)


class Echo:
    """Answers each message after a delay and persists before it speaks: the contract in small."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Instant, Received]] = []
        self.unspoken: dict[int, Received] = {}
        self.tokens = 0

    def handle(self, fact: Fact, *, now: Instant) -> Iterable[Effect]:
        match fact:
            case Received():
                self.waiting.append((now + MILLISECOND, fact))
                return []
            case DeadlineReached():
                return [self._persist(fact) for _, fact in self._due(now)]
            case Persisted(token=token):
                heard = self.unspoken.pop(token)
                return [Send(heard.link, heard.message)]
            case _:
                return []

    def _due(self, now: Instant) -> list[tuple[Instant, Received]]:
        due = [each for each in self.waiting if each[0] <= now]
        self.waiting = [each for each in self.waiting if each[0] > now]
        return due

    def _persist(self, heard: Received) -> Persist:
        self.tokens += 1
        self.unspoken[self.tokens] = heard
        return Persist(self.tokens, "heard", heard.message)

    def next_deadline(self) -> Instant | None:
        return min((at for at, _ in self.waiting), default=None)

    def check_invariants(self) -> None:
        if len(self.unspoken) > self.tokens:
            raise InvariantBroken("more to say than was ever persisted")


def test_a_conversation_is_a_list_of_equalities() -> None:
    echo: Machine = Echo()
    assert echo.next_deadline() is None
    assert echo.handle(Received("b1", "hello"), now=0) == []
    assert echo.next_deadline() == MILLISECOND
    assert echo.handle(DeadlineReached(), now=MILLISECOND) == [Persist(1, "heard", "hello")]
    assert echo.next_deadline() is None
    assert echo.handle(Persisted(1), now=2 * MILLISECOND) == [Send("b1", "hello")]
    echo.check_invariants()
