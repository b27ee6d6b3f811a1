"""Runs a scenario: the timeline, the same for every world.

1. A world is opened: its brokers and links are up.
2. Clients start and stop, links change, and faults are injected, at the seconds that the scenario
   names.  Within one second, brokers and clients start first, then links change, then faults happen
   in the order of the file, then clients stop.
3. At the end of the duration the sending clients stop.  In-flight messages may arrive during
   ``drain_s`` more; the run ends earlier if nothing is missing.
4. The history of every service is judged, in every world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.world import World

PROGRESS_STEP_S = 1.0
"""How often progress is reported during a long interval."""

DRAIN_STEP_S = 0.5
"""How often the drain checks whether everything has arrived."""

Progress = Callable[[float], None]
"""Receives the current second of the scenario."""

Step = tuple[float, int, Callable[[], None]]

COMING, CHANGING, STRIKING, GOING = range(4)


def run(world: World, progress: Progress = lambda at_s: None) -> RunResult:
    """Run a world's scenario from beginning to end."""
    scenario = world.scenario
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
        judgements = _drain(scenario, world, progress)
    finally:
        world.close()
    return world.result(judgements)


def _steps(scenario: Scenario, world: World) -> list[Step]:
    steps: list[Step] = [
        (broker.start_s, COMING, _bound(world.start_broker, broker.name))
        for broker in scenario.brokers
        if broker.start_s
    ]
    for client in scenario.clients:
        stop_s = scenario.duration_s
        if client.stop_s is not None and client.stop_s <= stop_s:
            stop_s = client.stop_s
            if not client.ends_itself:
                steps.append((stop_s, GOING, _bound(world.stop_client, client)))
        steps.append((client.start_s, COMING, _bound(world.start_client, client, stop_s)))
    steps += [
        (change.at_s, CHANGING, _bound(world.change_link, link, change))
        for link in scenario.links
        for change in link.changes
    ]
    steps += [
        (at_s, STRIKING, _bound(world.strike, fault))
        for fault in scenario.faults
        for at_s in ([fault.at_s] if fault.pause is None else fault.pause.begins_s(fault.at_s))
    ]
    return steps


def _bound(function: Callable[..., None], *arguments: object) -> Callable[[], None]:
    return lambda: function(*arguments)


def _advance(world: World, from_s: float, to_s: float, progress: Progress) -> None:
    """Advance time in short steps, to report progress."""
    while from_s < to_s:
        from_s = min(to_s, from_s + PROGRESS_STEP_S)
        world.run_until(from_s)
        progress(from_s)


def _drain(scenario: Scenario, world: World, progress: Progress) -> Mapping[str, Judgement] | None:
    """Wait until no message is in flight, as far as the applications can tell.

    Returns the judgements of the final histories, or None if ``drain_s`` passed first.
    """
    at_s, end_s = scenario.duration_s, scenario.duration_s + scenario.drain_s
    before: object = None
    judged: object = None
    while at_s < end_s:
        histories = world.histories
        seen = [(each.delivered, each.pending) for each in histories.values()]
        unsettled = any(each.pending for each in histories.values())
        # Judging a history is expensive: do it only when the history has stopped changing.
        if seen == before != judged and not unsettled:
            judged = seen
            if all(each.complete() for each in histories.values()):
                return {name: each.judge() for name, each in histories.items()}
        before = seen
        at_s = min(end_s, at_s + DRAIN_STEP_S)
        world.run_until(at_s)
        progress(at_s)
    return None
