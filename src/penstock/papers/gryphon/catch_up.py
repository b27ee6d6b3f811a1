"""Measures how a job that catches up after an outage affects live traffic.

    python -m penstock.papers.gryphon.catch_up

Publishers are at one broker, a live subscriber and a job at another, and between them is one link
of limited bandwidth, of which live data takes a good half.  The job was away for a while; now its
tasks read the missed interval all at once, as a Spark query with several partitions does.

The measure is the edge's own metric, the rate of its doubt horizon (Section 3.1 of the Gryphon
paper): 1 means that the live subscribers keep up; below 0.95 the edge asks the publishers to slow
down.  The experiment runs with SDCC's window for catching-up readers and without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from penstock.client.guaranteed.reader import ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant, in_seconds, seconds
from penstock.core.intervals import Tick
from penstock.core.randomness import random_stream
from penstock.overlay.node import BrokerNode, node_config
from penstock.services.guaranteed.broker import GuaranteedBroker
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.sim.history import PublisherHistory, SubscriberHistory
from penstock.sim.link import LinkModel
from penstock.sim.message_source import MessageSource, SourceSpec
from penstock.sim.workload import Pace, SimPublisher, SimSubscriber
from penstock.sim.world import SimWorld

SOURCE, MIDDLE, EDGE = "pb", "ib", "sb"
PUBEND: Final = "p"
SETTLED: Final[Duration] = 2 * SECOND
"""Time for the overlay and the live subscription to be in force."""
LOOK_EVERY: Final[Duration] = 100 * MILLISECOND
BATCH_ROWS: Final = 5
GIVE_UP_AFTER: Final[Duration] = 600 * SECOND


class CatchUp(msgspec.Struct, frozen=True):
    """One experiment."""

    paced: bool
    tasks: int = 4
    outage_s: float = 30.0
    rate_msgs_per_s: float = 500.0
    payload_bytes: int = 200
    bandwidth_bytes_per_s: int = 250_000
    seed: int = 1


class Outcome(msgspec.Struct, frozen=True):
    paced: bool
    least_rate: float
    """The lowest smoothed rate of the live edge while the job was reading."""
    share_below: float
    """The share of that time in which the edge did not keep up (below 0.95)."""
    longest_lag_s: float
    """The largest lag of the live edge behind the source."""
    live_msgs_per_s: float
    """Messages that the publishers could publish meanwhile."""
    took_s: float
    read_messages: int
    missed_messages: int
    """Messages that the job should have read and did not."""


def run(experiment: CatchUp) -> Outcome:
    world, publisher = _build(experiment)
    world.run_for(SETTLED + seconds(experiment.outage_s))
    until = _head(world)
    tasks = _start_tasks(world, experiment, until)
    published_before = len(publisher.history)
    began = world.now
    rates, lags = _watch(world, tasks)
    took = in_seconds(world.now - began)
    read = sum(len(task.history.ticks) for task in tasks)
    due = sum(1 for tick in publisher.history.ticks if 0 < tick < until)
    return Outcome(
        experiment.paced,
        min(rates),
        sum(rate < 0.95 for rate in rates) / len(rates),
        in_seconds(max(lags)),
        (len(publisher.history) - published_before) / took,
        took,
        read,
        due - read,
    )


def _build(experiment: CatchUp) -> tuple[SimWorld, SimPublisher]:
    world = SimWorld(experiment.seed)
    parameters = GuaranteedParameters(congestion=CongestionParameters(sdcc=experiment.paced))
    for name, neighbours in (
        (SOURCE, {MIDDLE: 1}),
        (MIDDLE, {SOURCE: 1, EDGE: 1}),
        (EDGE, {MIDDLE: 1}),
    ):
        pubends = (PUBEND,) if name == SOURCE else ()
        world.add_broker(
            node_config(
                name, neighbours, pubends=pubends, guaranteed=parameters, trace_interval_ns=0
            )
        )
    world.add_link(SOURCE, MIDDLE, LinkModel(fair=True))
    world.add_link(
        MIDDLE, EDGE, LinkModel(bandwidth_bytes_per_s=experiment.bandwidth_bytes_per_s, fair=True)
    )
    world.start()
    world.add_client("live", _reader("live", Start()), EDGE)
    spec = SourceSpec("w", PUBEND, {}, experiment.payload_bytes, batch_rows=BATCH_ROWS)
    source = MessageSource(spec, experiment.seed)
    rate = experiment.rate_msgs_per_s
    pace = Pace(world.now + SETTLED, rate_msgs_per_s=rate, batch_rows=BATCH_ROWS)
    random = random_stream(experiment.seed, "w", "pace")
    publisher = SimPublisher(PublisherHistory("w", source), pace, random)
    world.add_client("w", publisher, SOURCE)
    return world, publisher


def _reader(name: str, start: Start) -> SimSubscriber:
    history = SubscriberHistory(name, EDGE, "", from_earliest=False, identified=True)
    return SimSubscriber(history, start, ReaderOptions())


def _start_tasks(world: SimWorld, experiment: CatchUp, until: Tick) -> list[SimSubscriber]:
    """The job's tasks, each with its share of the interval."""
    first = world.now - seconds(experiment.outage_s)
    span = until - first
    tasks = []
    for number in range(experiment.tasks):
        low = first + span * number // experiment.tasks
        high = first + span * (number + 1) // experiment.tasks
        if number == 0:
            low -= SETTLED
        task = _reader(f"task-{number}", Start(positions={PUBEND: low}, ends={PUBEND: high}))
        world.add_client(task.history.name, task, EDGE)
        tasks.append(task)
    return tasks


def _watch(world: SimWorld, tasks: Sequence[SimSubscriber]) -> tuple[list[float], list[Duration]]:
    """Observe the live edge until every task has read its interval."""
    rates: list[float] = []
    lags: list[Duration] = []
    give_up_at: Instant = world.now + GIVE_UP_AFTER
    while not all(task.reader.is_over for task in tasks) and world.now < give_up_at:
        world.run_for(LOOK_EVERY)
        node = world.brokers[EDGE].node
        assert node is not None
        edge = _service(node).edge
        rates.append(edge.controls[PUBEND].rate.smoothed)
        lags.append(_head(world) - edge.horizons()[PUBEND])
    return rates, lags


def _head(world: SimWorld) -> Tick:
    node = world.brokers[SOURCE].node
    assert node is not None
    return _service(node).pubends[PUBEND].spoken_end


def _service(node: BrokerNode) -> GuaranteedBroker:
    service = node.services["guaranteed"]
    assert isinstance(service, GuaranteedBroker)
    return service


def show(outcomes: Sequence[Outcome]) -> Table:
    """The outcomes side by side."""
    table = Table(title="A job catches up: the effect on the live edge")
    for name in (
        "reading",
        "least rate",
        "below 0.95",
        "longest lag",
        "live msgs/s",
        "took",
        "read",
        "missed",
    ):
        table.add_column(name, justify="left" if name == "reading" else "right")
    for each in outcomes:
        table.add_row(
            "paced" if each.paced else "naive",
            f"{each.least_rate:.2f}",
            f"{100 * each.share_below:.0f} %",
            f"{each.longest_lag_s:.1f} s",
            f"{each.live_msgs_per_s:.0f}",
            f"{each.took_s:.0f} s",
            str(each.read_messages),
            str(each.missed_messages),
        )
    return table


def main() -> None:
    """Run both ways of reading."""
    Console().print(show([run(CatchUp(paced=True)), run(CatchUp(paced=False))]))


if __name__ == "__main__":
    main()
