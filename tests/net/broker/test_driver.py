from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from penstock.core.clock import MILLISECOND, Instant
from penstock.core.machine import (
    CloseSession,
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkUp,
    Persist,
    Send,
    SessionOpened,
    Trace,
)
from penstock.core.trace import TraceRecord
from penstock.net.broker.driver import Driver
from penstock.net.broker.durability import Durability
from penstock.net.wall_clock import WallClock

PATIENCE_S = 60


class Recorder:
    """A machine that does as it is told, and a world that notes what it was ordered."""

    def __init__(self) -> None:
        self.heard: list[tuple[Fact, Instant]] = []
        self.orders: list[Any] = []
        self.answers: dict[Fact, list[Effect]] = {}
        self.deadline: Instant | None = None
        self.woken = asyncio.Event()
        self.failures: list[tuple[Fact | None, str]] = []

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        self.heard.append((fact, now))
        if fact == DeadlineReached():
            self.deadline = None
            self.woken.set()
        if fact == LinkDown("broken"):
            raise RuntimeError("a bug")
        return self.answers.get(fact, [])

    def next_deadline(self) -> Instant | None:
        return self.deadline

    def check_invariants(self) -> None:
        """Nothing can be wrong."""

    @property
    def facts(self) -> list[Fact]:
        return [fact for fact, _ in self.heard]

    def send(self, effect: Send) -> None:
        self.orders.append(effect)

    def close_session(self, effect: CloseSession) -> None:
        self.orders.append(effect)

    def machine_failed(self, fact: Fact | None, error: Exception) -> None:
        self.failures.append((fact, str(error)))

    persist = persist_state = read = trim = send


@pytest.fixture
async def world() -> Recorder:
    return Recorder()


@pytest.fixture
async def driver(world: Recorder) -> Iterator[Driver]:
    made = Driver(
        world,
        WallClock(),
        cast(Durability, world),
        world,
        lambda record: world.orders.append(record),
    )
    yield made
    made.stop()


async def test_effects_are_carried_out_in_their_order(world: Recorder, driver: Driver) -> None:
    record = TraceRecord(1, "b", "s", "m", 1.0)
    effects = [Send("a", "hello"), Persist(1, "log", "frame"), CloseSession("client/1", "why")]
    world.answers[LinkUp("a")] = [*effects, Trace(record)]

    driver.feed([LinkUp("a")])

    assert world.orders == [*effects, record]


async def test_a_fact_that_comes_about_during_an_effect_waits_its_turn(
    world: Recorder, driver: Driver
) -> None:
    """The machine is never entered twice, and the effects of the first fact come first."""
    world.answers[LinkUp("a")] = [Send("a", 1), Send("a", 2)]
    world.answers[LinkUp("b")] = [Send("b", 3)]
    noted = world.orders.append

    def send(effect: Send) -> None:
        noted(effect.message)
        if effect.message == 1:
            driver.feed([LinkUp("b")])
            assert world.facts == [LinkUp("a")]

    driver._orders[Send] = send
    driver.feed([LinkUp("a")])

    assert world.facts == [LinkUp("a"), LinkUp("b")]
    assert world.orders == [1, 2, 3]


async def test_time_does_not_go_backwards(world: Recorder, driver: Driver) -> None:
    driver.feed([LinkUp(str(number)) for number in range(100)])

    instants = [instant for _, instant in world.heard]
    assert instants == sorted(instants)


async def test_a_deadline_is_told_when_it_has_come_and_not_before(
    world: Recorder, driver: Driver
) -> None:
    deadline = world.deadline = WallClock().now() + 20 * MILLISECOND

    driver.feed([SessionOpened("client/1")])

    async with asyncio.timeout(PATIENCE_S):
        await world.woken.wait()
    fact, instant = world.heard[-1]
    assert fact == DeadlineReached()
    assert instant >= deadline - MILLISECOND


async def test_a_deadline_that_moves_forward_is_told_then(world: Recorder, driver: Driver) -> None:
    world.deadline = WallClock().now() + 3600 * 1000 * MILLISECOND
    driver.feed([LinkUp("a")])

    world.deadline = WallClock().now()
    driver.feed([LinkUp("b")])

    async with asyncio.timeout(PATIENCE_S):
        await world.woken.wait()


async def test_a_deadline_that_moves_back_is_not_told_early(
    world: Recorder, driver: Driver
) -> None:
    world.deadline = WallClock().now()
    driver.feed([LinkUp("a")])
    deadline = world.deadline = WallClock().now() + 20 * MILLISECOND
    driver.feed([LinkUp("b")])

    async with asyncio.timeout(PATIENCE_S):
        await world.woken.wait()

    assert world.heard[-1][1] >= deadline - MILLISECOND
    assert world.facts.count(DeadlineReached()) == 1


async def test_a_machine_that_raises_hears_nothing_more(world: Recorder, driver: Driver) -> None:
    """Its state may be half-changed: no later fact is handled, no later order carried out."""
    world.deadline = WallClock().now()
    world.answers[LinkUp("before")] = [Send("a", "before")]
    world.answers[LinkUp("next")] = [Send("a", "next")]

    driver.feed([LinkUp("before"), LinkDown("broken"), LinkUp("next")])
    driver.feed([LinkUp("next")])
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert world.failures == [(LinkDown("broken"), "a bug")]
    assert world.facts == [LinkUp("before"), LinkDown("broken")]
    assert world.orders == [Send("a", "before")]


async def test_an_order_that_cannot_be_carried_out_ends_the_driver(
    world: Recorder, driver: Driver
) -> None:
    world.answers[LinkUp("a")] = [Send("a", 1), Send("a", 2)]

    def send(effect: Send) -> None:
        raise KeyError(effect.link)

    driver._orders[Send] = send
    driver.feed([LinkUp("a"), LinkUp("b")])

    assert [fact for fact, _ in world.failures] == [LinkUp("a")]
    assert world.facts == [LinkUp("a")]


async def test_a_machine_that_cannot_tell_its_deadline_has_failed(
    world: Recorder, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_deadline() -> Instant | None:
        raise IndexError("no deadline")

    monkeypatch.setattr(world, "next_deadline", next_deadline)
    driver.feed([LinkUp("a")])
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert world.failures == [(None, "no deadline")]


async def test_nothing_is_heard_after_the_end(world: Recorder, driver: Driver) -> None:
    driver.stop()
    driver.feed([LinkUp("a")])

    assert world.heard == []


async def test_what_is_ordered_at_the_start_comes_first(world: Recorder, driver: Driver) -> None:
    driver.start([Send("a", "first")])

    assert world.orders == [Send("a", "first")]
