"""How a job that catches up after an outage affects live traffic.

Publishers are at one broker, a live subscriber and a job at another, and between them is one link
of limited bandwidth, of which live data takes a good half.  The job was away for a while; now its
tasks read the missed interval all at once, as a Spark query with several partitions does.

The measure is the edge's own metric, the rate of its doubt horizon (Section 3.1 of the Gryphon
paper): 1 means that the live subscribers keep up; below 0.95 the edge asks the publishers to slow
down.  The experiment runs with SDCC's window for catching-up readers and without it.

The tasks have positions to start and to end at, which clients of a scenario do not have.
"""

from __future__ import annotations

from typing import Final

from penstock.client.guaranteed.reader import ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.core.clock import seconds
from penstock.core.intervals import Tick
from penstock.lab.experiments.experiment import Experiment, scenario_of
from penstock.lab.oracle.guaranteed.history import GuaranteedHistory, SubscriberHistory
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure
from penstock.lab.workloads.guaranteed.machines import SimSubscriber
from penstock.lab.worlds.sim import SimRun

EDGE: Final = "sb"
PUBEND: Final = "pb.1"
TASKS: Final = 4
SETTLED_S: Final = 2.0
"""Time for the overlay and the live subscription to be in force, before publishers start."""
STEP_S: Final = 0.1
KEEPS_UP: Final = 0.95
"""The rate below which an edge does not keep up."""


def catch_up(seed: int, *, paced: bool, outage_s: float = 30.0) -> dict[str, float]:
    """The effect on the live edge, from the start of the tasks until all have read their part."""
    scenario = scenario_of(
        Experiment("gryphon-catch-up", {"congestion.sdcc": paced, "congestion.fair_links": paced})
    )
    run = SimRun(scenario, seed)
    run.open()
    for client in run.scenario.clients:
        run.run_until(client.start_s)
        run.start_client(client, scenario.duration_s)
    began_s = at_s = SETTLED_S + outage_s
    run.run_until(began_s)
    missed_until = run.world.now
    tasks = _start_tasks(run, missed_until - seconds(outage_s), missed_until)
    while not all(task.reader.is_over for task in tasks) and at_s < scenario.duration_s:
        at_s += STEP_S
        run.run_until(at_s)
    result = run.result()
    horizon = Measurement(metric="doubt_horizon_rate", node=EDGE, from_s=began_s)
    rates = [rate for _, rate in curve(result, horizon, "value")]
    lag = Measurement(metric="doubt_horizon_lag_s", node=EDGE, from_s=began_s)
    published = Measurement(metric="published_messages", from_s=began_s, aggregate="rate")
    history = run.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    due = sum(tick < missed_until for tick in history.subscribers["live"].ticks)
    return {
        "least rate": min(rates),
        "share below": sum(rate < KEEPS_UP for rate in rates) / len(rates),
        "longest lag": measure(result, lag),
        "live": measure(result, published),
        "took": at_s - began_s,
        "missed": float(due - sum(len(task.history.ticks) for task in tasks)),
    }


def _start_tasks(run: SimRun, low: Tick, high: Tick) -> list[SimSubscriber]:
    """The job's tasks, each with its share of the interval; the first reads what is before too."""
    tasks = []
    for number in range(TASKS):
        first, end = (low + (high - low) * part // TASKS for part in (number, number + 1))
        if number == 0:
            first -= seconds(SETTLED_S)
        name = f"task-{number}"
        history = SubscriberHistory(name, EDGE, "", from_earliest=False, identified=True)
        start = Start(positions={PUBEND: first}, ends={PUBEND: end})
        task = SimSubscriber(history, start, ReaderOptions())
        run.world.add_client(name, task, EDGE)
        tasks.append(task)
    return tasks
