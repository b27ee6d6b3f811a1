"""The paper's experiments with real processes: alias queue overhead (Figure 4), and the runs of
Section V.B compressed twentyfold.

Absolute figures depend on the machine; the ratios within one run are the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from penstock.papers.store_and_forward.cluster import (
    Consumer,
    Producer,
    Progress,
    Site,
    cluster,
    reception_time_s,
)
from penstock.papers.store_and_forward.runs import simulate
from penstock.papers.store_and_forward.scenario import (
    BALANCED,
    IMPROVED_QUICK,
    INVERTED,
    PAPER,
    ROUND_ROBIN,
    SHARED_MACHINE_S,
    UNBALANCED,
    Policy,
    QueueScenario,
    load,
)
from penstock.papers.table import PaperRow, at_least, at_most, row
from penstock.services.queues.parameters import AliasConfig

SERVICE: Final = "queues"
COMPRESSED: Final = 20.0
MESSAGES: Final = 1_000_000
"""As many as in the paper's campaigns: several seconds of work even on a fast machine, so that
filling and draining of the pipeline and a few slow syncs do not dominate."""

ROUNDS: Final = 5
COMPRESSED_ROUNDS: Final = 3
SLEEPING_MSGS_PER_S: Final = 4000.0
"""Rate of a sleeping consumer: well below a broker's, so that consumers are the limit."""

PREFETCH: Final = 100
"""Prefetch of a consumer with a rate: 70 ms of the faster one's work, more than a round trip."""

GIVE_UP_S: Final = 120.0
SITES: Final = ("east", "west")

ONE_SERVER: Final = {"one": Site(("work",), (AliasConfig("orders", ("work@one",)),))}
ONE_NAMES: Final = ("1 one server", "2 one server, alias")
TWO_SERVERS: Final = {
    "one": Site(
        (),
        (
            AliasConfig("orders", ("work@two",)),
            AliasConfig("shared", ("work@two", "more@two"), balancing="round-robin"),
        ),
        ("two",),
    ),
    "two": Site(("work", "more"), (), ("one",)),
}
TWO_NAMES: Final = ("3 two servers", "4 two servers, alias")


def live_rows(out: Path, progress: Progress) -> list[PaperRow]:
    """All live runs."""
    with TemporaryDirectory(prefix="penstock-queues-") as name:
        directory = Path(name)
        return [*_overhead(directory, progress), *_compressed_runs(directory, progress)]


# -- Figure 4 --------------------------------------------------------------------------------------


class Saturated(msgspec.Struct, frozen=True):
    """One of the experiments 1 to 4, in which no consumer sleeps."""

    name: str
    producer: Producer
    consumer: Consumer


@contextmanager
def saturated_sites(
    directory: Path, messages: int, layouts: tuple[int, ...] = (1, 2)
) -> Iterator[list[tuple[Saturated, Saturated]]]:
    """Start the brokers of experiments 1 and 2 (one server) and 3 and 4 (two).

    Yields the direct path and that through an alias queue for each layout.  The two differ only in
    the name of the queue that the producer sends to.
    """
    with ExitStack() as running:
        pairs = []
        if 1 in layouts:
            here = running.enter_context(cluster(ONE_SERVER, directory / "1"))
            pairs.append(_pair(here["one"], here["one"], "work", ONE_NAMES, messages))
        if 2 in layouts:
            there = running.enter_context(cluster(TWO_SERVERS, directory / "2"))
            pairs.append(_pair(there["one"], there["two"], "work@two", TWO_NAMES, messages))
        yield pairs


def _pair(
    from_url: str, to_url: str, queue: str, names: tuple[str, str], messages: int
) -> tuple[Saturated, Saturated]:
    consumer = Consumer(to_url, "work", (), 8192, messages)
    direct, alias = (
        Saturated(name, Producer(from_url, target, messages), consumer)
        for name, target in zip(names, (queue, "orders"), strict=True)
    )
    return direct, alias


def _overhead(directory: Path, progress: Progress) -> list[PaperRow]:
    """Experiments 1 to 7 in interleaved rounds, so that all see the same machine load."""
    rates: dict[str, list[float]] = {}

    def measure(name: str, producer: Producer, *consumers: Consumer) -> None:
        taken_s = reception_time_s([producer], list(consumers), GIVE_UP_S)
        rates.setdefault(name, []).append(producer.messages / taken_s)
        progress(f"{name}: {rates[name][-1]:,.0f} messages/s")

    with saturated_sites(directory, MESSAGES) as pairs:
        saturated = [each for pair in pairs for each in pair]
        for _ in range(ROUNDS):
            for each in saturated:
                measure(each.name, each.producer, each.consumer)
            # In alternating order: a machine that slows down affects both of a pair.
            saturated.reverse()
        home, site = pairs[1][0].producer.url, pairs[1][0].consumer.url
        slow = ((0.0, SLEEPING_MSGS_PER_S),)
        slept = [Consumer(site, name, slow, 100) for name in ("work", "more")]
        for _ in range(2):
            few = MESSAGES // 25
            measure("5 sleeping consumer", Producer(home, "work@two", few), slept[0])
            measure("6 sleeping consumer, alias", Producer(home, "orders", few), slept[0])
            measure("7 two sleeping consumers, alias", Producer(home, "shared", few), *slept)
    return _overhead_rows(rates)


def _overhead_rows(rates: dict[str, list[float]]) -> list[PaperRow]:
    def ratios(of: str, to: str) -> list[float]:
        """Round by round, because the machine's load changes between rounds."""
        return [first / second for first, second in zip(rates[of], rates[to], strict=True)]

    def shown(*names: str) -> str:
        return "; ".join(f"{name}: {median(rates[name]):,.0f}/s" for name in names)

    saturated = "the destination is near, so messages pass through the alias queue"
    pairs = (
        ("one server", "< 4 (2291 to 2211/s)", "1 one server", "2 one server, alias", saturated),
        ("two servers", "2.5 (2052 to 2001/s)", "3 two servers", "4 two servers, alias", saturated),
        (
            "consumer is the limit",
            "1 (1944 to 1918/s)",
            "5 sleeping consumer",
            "6 sleeping consumer, alias",
            "the paper's regime, at twice its rate",
        ),
    )
    rows = [
        row(
            SERVICE,
            f"alias overhead, {where} (live)",
            "throughput lost",
            "%",
            paper=paper,
            bar=at_most(4),
            stretch=at_most(2),
            paper_law=[],
            improved_law=[100 * (1 - each) for each in ratios(alias, direct)],
            note=f"{shown(direct, alias)}; {why}",
        )
        for where, paper, direct, alias, why in pairs
    ]
    one, two = "6 sleeping consumer, alias", "7 two sleeping consumers, alias"
    rows.append(
        row(
            SERVICE,
            "two consumer queues (live)",
            "throughput gained",
            "x",
            paper="1.92",
            bar=at_least(1.8),
            paper_law=ratios(two, one),
            note=f"consumers that sleep; {shown(one, two)}",
        )
    )
    return rows


# -- Section V.B -----------------------------------------------------------------------------------


def _compressed_runs(directory: Path, progress: Progress) -> list[PaperRow]:
    rows = []
    for name, reported in ((BALANCED, "500.5"), (UNBALANCED, "510"), (INVERTED, "506")):
        laws = (PAPER, IMPROVED_QUICK)
        taken: dict[str, list[float]] = {each.name: [] for each in laws}
        for _ in range(COMPRESSED_ROUNDS):
            for each in laws:
                taken[each.name].append(_run_live(name, each, directory, progress))
        simulated = [_simulated_s(name, each) for each in laws]
        rows.append(
            row(
                SERVICE,
                f"{load(name).name}, flow control, time compressed {COMPRESSED:g} times (live)",
                "total reception time",
                "s",
                paper=f"{reported} / {COMPRESSED:g}",
                bar=at_most(round(simulated[0] + SHARED_MACHINE_S, 1)),
                stretch=at_most(round(simulated[1] + SHARED_MACHINE_S, 1)),
                paper_law=taken[PAPER.name],
                improved_law=taken[IMPROVED_QUICK.name],
                note=(
                    f"25 s is the least; the simulator needs {simulated[0]:.1f} / "
                    f"{simulated[1]:.1f} s, bars are that and {SHARED_MACHINE_S:g} s for processes "
                    "that share two cores"
                ),
            )
        )
    flood = _run_live(UNBALANCED, ROUND_ROBIN, directory, progress)
    rows.append(
        row(
            SERVICE,
            f"70/30, round-robin, time compressed {COMPRESSED:g} times (live)",
            "total reception time",
            "s",
            paper="time-out",
            bar=at_least(40),
            paper_law=[flood],
        )
    )
    return rows


def _simulated_s(name: str, policy: Policy) -> float:
    return simulate(load(name).compressed(COMPRESSED), policy, 1, compressed=COMPRESSED).total_s


def _run_live(name: str, policy: Policy, directory: Path, progress: Progress) -> float:
    scenario = load(name).compressed(COMPRESSED)
    where = directory / f"{name}-{policy.name.replace(' ', '-')}"
    taken_s = run_live(scenario, policy, where)
    progress(f"{scenario.name}, {policy.name}: {taken_s:.2f} s")
    return taken_s


def run_live(scenario: QueueScenario, policy: Policy, directory: Path) -> float:
    """Run a scenario as processes on this machine; seconds until the last acknowledgement."""
    homes = [f"home-{number}" for number in range(1, scenario.alias_queues + 1)]
    alias = policy.alias(tuple(f"work@{site}" for site in SITES), COMPRESSED)
    sites = {home: Site((), (alias,), SITES) for home in homes}
    sites |= {site: Site(("work",), (), tuple(homes)) for site in SITES}
    with cluster(sites, directory) as urls:
        share = 1 / scenario.alias_queues
        producers = [
            Producer(
                urls[home],
                "orders",
                round(scenario.messages * share),
                scenario.payload_bytes,
                scenario.production_msgs_per_s * share,
            )
            for home in homes
        ]
        changes = [0.0] if scenario.inverted_at_s is None else [0.0, scenario.inverted_at_s]
        consumers = [
            Consumer(
                urls[site],
                "work",
                tuple((at_s, scenario.rate_msgs_per_s(index, at_s)) for at_s in changes),
                PREFETCH,
            )
            for index, site in enumerate(SITES)
        ]
        return reception_time_s(producers, consumers, scenario.give_up_s)
