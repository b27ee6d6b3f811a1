"""The timeline: what happens when, in which order, and when a run ends.

The world here records what it is told, and its history is what a test says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from penstock.core.clock import SECOND
from penstock.lab.oracle.history import Events, History
from penstock.lab.oracle.judgement import Judgement, judgement_of
from penstock.lab.result import RunResult
from penstock.lab.run import DRAIN_STEP_S, run
from penstock.lab.scenario.model import (
    Broker,
    Client,
    Fault,
    Link,
    LinkChange,
    Scenario,
)
from penstock.lab.scenario.numbering import expanded
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber


class ScriptedHistory:
    """Delivers and settles as scripted by functions of the second."""

    def __init__(
        self,
        world: RecordingWorld,
        delivered: Callable[[float], int],
        pending: Callable[[float], int],
        lost: Callable[[float], int],
    ) -> None:
        self._world = world
        self._delivered, self._pending, self._lost = delivered, pending, lost
        self.looked_at: list[float] = []

    @property
    def delivered(self) -> int:
        return self._delivered(self._world.now_s)

    @property
    def pending(self) -> int:
        return self._pending(self._world.now_s)

    def complete(self) -> bool:
        self.looked_at.append(self._world.now_s)
        return not self._lost(self._world.now_s)

    def judge(self) -> Judgement:
        judgement = judgement_of(("lost",))
        judgement.broken["lost"] = self._lost(self._world.now_s)
        return judgement

    def events(self, metric: str) -> Mapping[str, Events]:
        return {}

    def totals(self) -> Iterator[tuple[str, str, int]]:
        return iter(())


class RecordingWorld:
    """Does nothing but write down what it was told, with the second."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        delivered: Callable[[float], int] = lambda at_s: 0,
        pending: Callable[[float], int] = lambda at_s: 0,
        lost: Callable[[float], int] = lambda at_s: 0,
        failing: str = "",
    ) -> None:
        self.scenario = expanded(scenario)
        self.now_s = 0.0
        self.told: list[tuple[Any, ...]] = []
        self.history = ScriptedHistory(self, delivered, pending, lost)
        self.judged: Mapping[str, Judgement] | None = None
        self._failing = failing

    @property
    def histories(self) -> Mapping[str, History]:
        return {"post": self.history}

    def open(self) -> None:
        self._tell("open")

    def run_until(self, at_s: float) -> None:
        assert at_s > self.now_s, "time only advances"
        self.now_s = at_s

    def start_broker(self, broker: str) -> None:
        self._tell("start", broker)

    def start_client(self, client: Client, stop_s: float) -> None:
        self._tell("start", client.name, stop_s)

    def stop_client(self, client: Client) -> None:
        self._tell("stop", client.name)

    def change_link(self, link: Link, change: LinkChange) -> None:
        self._tell("change", link.between, change.loss)

    def strike(self, fault: Fault) -> None:
        self._tell(*fault.kinds, fault.subject)

    def close(self) -> None:
        self._tell("close")

    def result(self, judgements: Mapping[str, Judgement] | None) -> RunResult:
        self.judged = judgements
        return RunResult(
            self.scenario,
            "recording",
            0,
            0,
            round(self.now_s * SECOND),
            self.histories,
            judgements or {"post": self.history.judge()},
            Telemetry(),
        )

    def _tell(self, *what: Any) -> None:
        self.told.append((self.now_s, *what))
        if what[0] == self._failing:
            raise RuntimeError(self._failing)


def subscriber(name: str, **keys: Any) -> Subscriber:
    return Subscriber(service="guaranteed", role="subscriber", name=name, broker="a", **keys)


def publisher(name: str, **keys: Any) -> Publisher:
    return Publisher(service="guaranteed", role="publisher", name=name, broker="a", **keys)


def test_everything_happens_at_its_second_and_in_its_order() -> None:
    scenario = Scenario(
        name="x",
        duration_s=5,
        drain_s=0,
        brokers=(Broker(name="a"), Broker(name="b", start_s=2), Broker(name="c", start_s=1)),
        links=(
            Link(between=("a", "b"), changes=(LinkChange(at_s=2, loss=0.5),)),
            Link(between=("a", "c"), changes=(LinkChange(at_s=1.5, loss=0.1),)),
        ),
        clients=(
            subscriber("late", start_s=2),
            publisher("p"),
            subscriber("s", stop_s=2),
            publisher("q", start_s=1, stop_s=3),
        ),
        faults=(
            Fault(at_s=4, crash="a"),
            Fault(at_s=2, restart="a"),
            Fault(at_s=2, crash="c"),
        ),
    )
    world = RecordingWorld(scenario)
    run(world)
    assert world.told == [
        (0, "open"),
        (0, "start", "p", 5),
        (0, "start", "s", 2),
        (1, "start", "c"),
        (1, "start", "q", 3),
        (1.5, "change", ("a", "c"), 0.1),
        (2, "start", "b"),
        (2, "start", "late", 5),
        (2, "change", ("a", "b"), 0.5),
        (2, "restart", "a"),
        (2, "crash", "c"),
        (2, "stop", "s"),
        (4, "crash", "a"),
        (5, "close"),
    ]


def test_what_comes_after_the_end_does_not_happen_and_what_comes_at_the_end_does() -> None:
    scenario = Scenario(
        name="x",
        duration_s=3,
        drain_s=0,
        brokers=(Broker(name="a"), Broker(name="b", start_s=3.1)),
        clients=(subscriber("s", stop_s=3), subscriber("t", stop_s=4), subscriber("u", start_s=9)),
        faults=(Fault(at_s=3.1, crash="a"), Fault(at_s=3, restart="a")),
    )
    world = RecordingWorld(scenario)
    run(world)
    assert world.told == [
        (0, "open"),
        (0, "start", "s", 3),
        (0, "start", "t", 3),
        (3, "restart", "a"),
        (3, "stop", "s"),
        (3, "close"),
    ]


def test_the_world_is_closed_after_an_error() -> None:
    scenario = Scenario(
        name="x", duration_s=3, brokers=(Broker(name="a"),), faults=(Fault(at_s=1, crash="a"),)
    )
    for failing in ("open", "crash"):
        world = RecordingWorld(scenario, failing=failing)
        with pytest.raises(RuntimeError, match=failing):
            run(world)
        assert world.told[-1][1] == "close"


SHORT = Scenario(name="x", duration_s=2.5, drain_s=30, brokers=(Broker(name="a"),))


def test_progress_is_told_at_least_every_second() -> None:
    seen: list[float] = []
    run(RecordingWorld(SHORT), seen.append)
    assert seen[:3] == [1, 2, 2.5]


def test_a_drain_ends_when_nothing_changes_and_nothing_is_missing() -> None:
    world = RecordingWorld(
        SHORT,
        delivered=lambda at_s: int(min(at_s, 6)),
        lost=lambda at_s: 0 if at_s >= 6 else 1,
    )
    result = run(world)
    assert result.ended_at == (6 + DRAIN_STEP_S) * SECOND
    assert world.judged is not None
    assert result.judgement["lost"] == 0


def test_a_drain_waits_for_messages_without_an_outcome() -> None:
    world = RecordingWorld(SHORT, pending=lambda at_s: 1 if at_s < 5 else 0)
    run(world)
    assert world.now_s == 5 + DRAIN_STEP_S
    assert world.history.looked_at == [5 + DRAIN_STEP_S]


def test_a_history_is_judged_only_after_it_changed() -> None:
    """Judging is expensive."""
    world = RecordingWorld(SHORT, delivered=lambda at_s: int(at_s / 10), lost=lambda at_s: 1)
    result = run(world)
    assert world.now_s == SHORT.duration_s + SHORT.drain_s
    assert len(world.history.looked_at) == 4, "once for each number of delivered messages"
    assert world.judged is None, "it may have changed since"
    assert result.judgement["lost"] == 1


def test_without_a_drain_a_run_ends_with_its_duration() -> None:
    scenario = Scenario(name="x", duration_s=2.5, drain_s=0, brokers=(Broker(name="a"),))
    world = RecordingWorld(scenario, lost=lambda at_s: 1)
    assert run(world).ended_at == 2.5 * SECOND
    assert world.history.looked_at == []
