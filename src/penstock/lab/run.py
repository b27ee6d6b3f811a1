"""Runs a scenario: the timeline, the same for both worlds.

1. A world is opened: its brokers and links are up.
2. Clients start and stop, and faults are injected, at the seconds that the scenario names.  Within
   one second, clients start first, then faults happen in the order of the file, then clients stop.
3. At the end of the duration the publishers stop.  In-flight messages may arrive during ``drain_s``
   more; the run ends earlier if nothing is missing.
4. The history is judged, in either world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.lab.result import RunResult
from penstock.lab.scenario.model import (
    Fault,
    Publishers,
    Scenario,
    Subscribers,
    each_publisher,
    each_subscriber,
)
from penstock.sim.history import History, Outcome
from penstock.sim.judgement import Judgement, judge

PROGRESS_STEP_S = 1.0
"""How often progress is reported during a long interval."""

DRAIN_STEP_S = 0.5
"""How often the drain checks whether everything has arrived."""


class UnsupportedFault(ValueError):
    """A fault that this world cannot inject."""


class World(Protocol):
    """What a scenario runs in; seconds count from its opening."""

    @property
    def history(self) -> History:
        """What the applications have seen so far."""
        ...

    def open(self) -> None:
        """Start the brokers that exist from the beginning, and bring up their links."""
        ...

    def run_until(self, at_s: float) -> None:
        """Advance time."""
        ...

    def start_broker(self, broker: str) -> None:
        """Start a broker that was not there at the opening."""
        ...

    def start_publisher(self, publisher: Publishers, stop_s: float) -> None:
        """Connect a publisher, which publishes until ``stop_s``."""
        ...

    def start_subscriber(self, subscriber: Subscribers) -> None:
        """Connect a subscriber."""
        ...

    def stop_client(self, name: str) -> None:
        """Stop a client for the rest of the run."""
        ...

    def strike(self, fault: Fault) -> None:
        """Inject a fault; raises ``UnsupportedFault`` if this world does not support it."""
        ...

    def close(self) -> None:
        """Stop everything and release resources."""
        ...

    def result(self, judged: Judgement | None) -> RunResult:
        """The result, after the world was closed.

        ``judged`` is the judgement of the whole history, if it has been made already.
        """
        ...


Progress = Callable[[float], None]
"""Receives the current second of the scenario."""

Step = tuple[float, int, Callable[[], None]]

COMING, STRIKING, GOING = range(3)


def run(scenario: Scenario, world: World, progress: Progress = lambda at_s: None) -> RunResult:
    """Run a scenario from beginning to end in a world that was created for it."""
    try:
        world.open()
        now_s = 0.0
        for at_s, _, act in sorted(_steps(scenario, world), key=lambda step: step[:2]):
            if at_s > scenario.duration_s:
                break
            _advance(world, now_s, at_s, progress)
            now_s = at_s
            act()
        _advance(world, now_s, scenario.duration_s, progress)
        judged = _drain(scenario, world, progress)
    finally:
        world.close()
    return world.result(judged)


def _steps(scenario: Scenario, world: World) -> list[Step]:
    steps: list[Step] = []
    for name, broker in scenario.brokers.items():
        if broker.start_s:
            steps.append((broker.start_s, COMING, _bound(world.start_broker, name)))
    for subscriber in each_subscriber(scenario):
        act = _bound(world.start_subscriber, subscriber)
        steps.append((subscriber.start_s, COMING, act))
        if subscriber.stop_s is not None:
            steps.append((subscriber.stop_s, GOING, _bound(world.stop_client, subscriber.name)))
    for publisher in each_publisher(scenario):
        stop_s = min(scenario.duration_s, publisher.stop_s or scenario.duration_s)
        act = _bound(world.start_publisher, publisher, stop_s)
        steps.append((publisher.start_s, COMING, act))
    steps += [(fault.at_s, STRIKING, _bound(world.strike, fault)) for fault in scenario.faults]
    return steps


def _bound(function: Callable[..., None], *arguments: object) -> Callable[[], None]:
    return lambda: function(*arguments)


def _advance(world: World, from_s: float, to_s: float, progress: Progress) -> None:
    """Advance time in short steps, to report progress."""
    while from_s < to_s:
        from_s = min(to_s, from_s + PROGRESS_STEP_S)
        world.run_until(from_s)
        progress(from_s)


def _drain(scenario: Scenario, world: World, progress: Progress) -> Judgement | None:
    """Wait until no message is in flight, as far as the applications can tell.

    Returns the judgement of the final history, or None if ``drain_s`` passed first.
    """
    at_s, end_s = scenario.duration_s, scenario.duration_s + scenario.drain_s
    before = judged = (-1, -1)
    while at_s < end_s:
        unsettled = world.history.count(Outcome.PENDING)
        seen = (world.history.delivered, unsettled)
        # Judging a history is expensive: do it only when the history has stopped changing.
        if seen == before != judged and not unsettled:
            judged = seen
            judgement = judge(world.history)
            if not judgement.lost:
                return judgement
        before = seen
        at_s = min(end_s, at_s + DRAIN_STEP_S)
        world.run_until(at_s)
        progress(at_s)
    return None
