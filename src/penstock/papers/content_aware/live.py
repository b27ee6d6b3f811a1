"""Figures 7, 8 and 9 with real processes: two brokers on loopback, every client a process.

The bottleneck is the link's own bandwidth limit.  Rates are the paper's; time is compressed by the
factors in ``COMPRESSED``.  Absolute figures depend on the machine; runs are compared with each
other.  Each law has several runs, of which the median counts; the run without control, which has no
bar, is made once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.papers.content_aware.live_clients import LiveRun, run_clients
from penstock.papers.content_aware.live_tcp import tcp_rows
from penstock.papers.content_aware.measures import (
    adaptation_s,
    capacity_messages,
    shown_rates,
    unfairness,
)
from penstock.papers.content_aware.runs import CAPACITY, FAIRNESS, LOAD
from penstock.papers.content_aware.scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    DatagramScenario,
    Policy,
    load,
)
from penstock.papers.content_aware.table import (
    ADAPTATION,
    DELIVERED,
    FEWER_LOSSES,
    LOST_IN_CHANGES,
    LOST_UNDER_LOAD,
    UNFAIRNESS,
    UTILISATION,
)
from penstock.papers.table import PaperRow

COMPRESSED_USUALLY: Final = 5.0
COMPRESSED: Final = {LOAD: COMPRESSED_USUALLY, CAPACITY: COMPRESSED_USUALLY, FAIRNESS: 3.0}
"""Shares need time: compressed 5 times, the paper's law is 6 to 18 % from max-min in the simulator
too, because a history of eight loss intervals is half of the measured time then."""

SETTLED_S: Final = 13.0
"""Fair shares are measured this long after a change, for the remaining 20 s."""

MOST_RUNS: Final = 3

NEAR, FAR = "near", "far"
Progress = Callable[[str], None]


def live_rows(seeds: int, progress: Progress) -> list[PaperRow]:
    """All live runs; as many as there are seeds, at most three."""
    runs: Runs = {}
    for name in (LOAD, CAPACITY, FAIRNESS):
        for policy in (UNCONTROLLED, FLOWS, IMPROVED):
            times = 1 if policy is UNCONTROLLED else min(seeds, MOST_RUNS)
            for number in range(1, times + 1):
                progress(f"{name}, {policy.name}, {number} of {times}")
                scenario = load(name).compressed(COMPRESSED[name])
                with TemporaryDirectory(prefix="penstock-datagram-") as directory:
                    run = run_live(scenario, policy, Path(directory))
                runs.setdefault((name, policy.name), []).append(run)
    return [
        *load_rows(runs),
        *capacity_rows(runs),
        *fairness_rows(runs),
        *tcp_rows(min(seeds, MOST_RUNS), progress),
    ]


Runs = dict[tuple[str, str], list[LiveRun]]


def run_live(scenario: DatagramScenario, policy: Policy, directory: Path) -> LiveRun:
    """Run brokers and clients once."""
    ports = {name: free_port() for name in (NEAR, FAR)}
    neighbours = {
        FAR: {NEAR: NeighbourConfig()},
        NEAR: {
            FAR: NeighbourConfig(
                f"127.0.0.1:{ports[FAR]}",
                bandwidth_bytes_per_s=round(scenario.bandwidth[0].kbps * 125),
            )
        },
    }
    with ExitStack() as running:
        for name, links in neighbours.items():
            config = broker_config(
                name,
                str(directory / name),
                listen=f"127.0.0.1:{ports[name]}",
                pubends=0,
                neighbours=links,
            )
            path = directory / f"{name}.toml"
            write_config(path, config)
            running.enter_context(BrokerProcess(path, directory / f"{name}.log"))
        urls = {name: f"penstock://127.0.0.1:{port}" for name, port in ports.items()}
        return run_clients(scenario, policy, urls[NEAR], urls[FAR], FAR)


def load_rows(runs: Runs) -> list[PaperRow]:
    """Figure 7."""
    (free,) = runs[LOAD, UNCONTROLLED.name]
    name = _live_name(LOAD)

    def lost(policy: str) -> list[float]:
        return [float(each.missed_messages) for each in runs[LOAD, policy]]

    def fewer(policy: str) -> list[float]:
        return [free.missed_messages / max(1, each.missed_messages) for each in runs[LOAD, policy]]

    def delivered(policy: str) -> list[float]:
        return [each.received_messages / free.received_messages for each in runs[LOAD, policy]]

    without = f"{free.missed_messages:,} lost without control"
    return [
        FEWER_LOSSES.both_laws(name, fewer, note=without),
        LOST_UNDER_LOAD.both_laws(name, lost),
        DELIVERED.both_laws(name, delivered),
    ]


def capacity_rows(runs: Runs) -> list[PaperRow]:
    """Figure 8."""
    scenario = load(CAPACITY).compressed(COMPRESSED[CAPACITY])
    name = _live_name(CAPACITY)
    could = capacity_messages(scenario)
    (free,) = runs[CAPACITY, UNCONTROLLED.name]

    def adapted(policy: str) -> list[float]:
        return [adaptation_s(scenario, each) for each in runs[CAPACITY, policy]]

    def used(policy: str) -> list[float]:
        return [each.received_messages / could for each in runs[CAPACITY, policy]]

    def lost(policy: str) -> list[float]:
        return [float(each.missed_messages) for each in runs[CAPACITY, policy]]

    return [
        ADAPTATION.both_laws(name, adapted),
        UTILISATION.both_laws(
            name,
            used,
            note="deliveries against what the link could carry; the capacity changes every 8 s",
        ),
        LOST_IN_CHANGES.both_laws(
            name, lost, note=f"{free.missed_messages:,} lost without control"
        ),
    ]


def fairness_rows(runs: Runs) -> list[PaperRow]:
    """Figure 9."""
    scenario = load(FAIRNESS).compressed(COMPRESSED[FAIRNESS])
    ends_s = [*(step.at_s for step in scenario.bandwidth[2:]), scenario.duration_s]
    return [
        _fairness_row(runs, scenario, step.kbps, step.at_s + SETTLED_S, end_s)
        for step, end_s in zip(scenario.bandwidth[1:], ends_s, strict=True)
    ]


def _fairness_row(
    runs: Runs, scenario: DatagramScenario, kbps: float, start_s: float, end_s: float
) -> PaperRow:
    def worst(policy: str) -> list[float]:
        return [unfairness(scenario, each, start_s, end_s) for each in runs[FAIRNESS, policy]]

    rates = [
        shown_rates(runs[FAIRNESS, policy.name][0], len(scenario.pairs), start_s, end_s)
        for policy in (FLOWS, IMPROVED)
    ]
    return UNFAIRNESS.both_laws(
        f"{_live_name(FAIRNESS)}, {kbps:g} Kbps",
        worst,
        note=f"{' and '.join(rates)} messages a second in the first runs, "
        f"{worst(UNCONTROLLED.name)[0]:.0f} % without control",
    )


def _live_name(scenario: str) -> str:
    return f"{load(scenario).name}, time compressed {COMPRESSED[scenario]:g} times (live)"
