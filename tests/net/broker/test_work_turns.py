from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.message import ClientRequest, Message
from penstock.core.why import WhyRequest
from penstock.net.broker import work_turns
from penstock.net.broker.work_turns import AT_ONCE, MOST_QUICK, QUICK, WorkTurns, is_quick
from penstock.overlay.wire import vocabulary
from penstock.services.guaranteed.messages import Publish


class Client:
    def __init__(self, name: str, requests: int) -> None:
        self.name = name
        self.backlog: deque[Message] = deque()
        self.messages: list[Message] = [WhyRequest(f"{name}{n}") for n in range(requests)]


class Broker:
    """Every request takes a whole slice of a clock that only it moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.handled: list[str] = []
        self.done: list[str] = []
        self.ended = ""
        self.finished = asyncio.Semaphore(0)
        self._now_s = 0.0
        monkeypatch.setattr(work_turns, "perf_counter", lambda: self._now_s)
        self.turns: WorkTurns[Client] = WorkTurns(self._handle)

    def _handle(self, client: Client, messages: list[Message]) -> bool:
        for message in messages:
            assert isinstance(message, WhyRequest)
            self.handled.append(message.name)
        self._now_s += work_turns.SLICE_S
        return client.name != self.ended

    def begin(self, client: Client) -> bool:
        return self.turns.begin(client, client.messages, self._finished(client))

    def _finished(self, client: Client) -> Callable[[], None]:
        def finish() -> None:
            self.done.append(client.name)
            self.finished.release()

        return finish


@pytest.fixture
async def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    return Broker(monkeypatch)


async def settled(broker: Broker, count: int) -> None:
    async with asyncio.timeout(60):
        for _ in range(count):
            await broker.finished.acquire()


async def test_what_fits_into_a_slice_is_handled_at_once(broker: Broker) -> None:
    assert broker.begin(Client("a", 1))

    assert broker.handled == ["a0"]


async def test_sessions_with_much_to_do_take_turns(broker: Broker) -> None:
    assert not broker.begin(Client("a", 4))
    assert not broker.begin(Client("b", 3))
    assert broker.handled == ["a0", "b0"]

    await settled(broker, 2)

    assert broker.handled == ["a0", "b0", "a1", "b1", "a2", "b2", "a3"]
    assert broker.done == ["b", "a"]


async def test_others_are_served_between_two_slices(broker: Broker) -> None:
    loop = asyncio.get_running_loop()
    broker.begin(Client("a", 3))
    loop.call_soon(broker.handled.append, "somebody else")

    await settled(broker, 1)

    assert broker.handled == ["a0", "a1", "somebody else", "a2"]


async def test_a_session_that_has_ended_is_not_worked_on(broker: Broker) -> None:
    broker.ended = "a"

    assert broker.begin(Client("a", 5))
    assert broker.handled == ["a0"]


def test_only_messages_of_a_fixed_small_cost_are_quick() -> None:
    assert {*vocabulary(ClientRequest)} > QUICK
    assert Publish in QUICK


def test_many_quick_messages_are_not_quick_together() -> None:
    """A flood of the smallest publications takes as long as a few large selectors."""
    rows = Batch.from_rows([({}, b"")])
    publications: list[Message] = [Publish("p", number, rows) for number in range(MOST_QUICK)]
    assert is_quick(publications)
    assert not is_quick([*publications, publications[0]])
    assert not is_quick([WhyRequest("p")])


async def test_quick_messages_of_a_backlog_are_handled_together(broker: Broker) -> None:
    rows = Batch.from_rows([({}, b"")])
    sizes: list[int] = []

    def handle(client: Client, messages: list[Message]) -> bool:
        sizes.append(len(messages))
        return True

    turns: WorkTurns[Client] = WorkTurns(handle)
    client = Client("c", 0)
    messages: list[Message] = [Publish("p", number, rows) for number in range(AT_ONCE + 2)]
    messages.insert(AT_ONCE + 1, WhyRequest("p"))
    assert turns.begin(client, messages, lambda: None)
    assert sizes == [AT_ONCE, 1, 1, 1]
