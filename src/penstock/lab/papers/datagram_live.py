"""Figures 7, 8 and 9 with real processes: two brokers on loopback, every client a process.

The bottleneck is the link's own bandwidth limit.  Rates are the paper's; time is compressed
``COMPRESSED`` times.  Figures of the machine mean little; what is compared is one run with another.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from penstock.lab.papers.datagram_live_clients import LiveRun, run_clients
from penstock.lab.papers.datagram_live_tcp import tcp_rows
from penstock.lab.papers.datagram_measures import (
    adaptation_s,
    capacity_messages,
    shown_rates,
    unfairness,
)
from penstock.lab.papers.datagram_runs import CAPACITY, FAIRNESS, LOAD
from penstock.lab.papers.datagram_scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    DatagramScenario,
    Policy,
    load,
)
from penstock.lab.papers.datagram_table import (
    ADAPTATION,
    DELIVERED,
    FEWER_LOSSES,
    LOST_IN_CHANGES,
    LOST_UNDER_LOAD,
    UNFAIRNESS,
    UTILISATION,
)
from penstock.lab.papers.table import PaperRow
from penstock.net.config import BrokerConfig, NeighbourConfig
from penstock.net.config_file import write_config
from penstock.net.process import BrokerProcess, free_port

COMPRESSED: Final = 5.0
SETTLED_S: Final = 5.0
"""Rates are measured so long after a change."""

NEAR, FAR = "near", "far"
Progress = Callable[[str], None]


def live_rows(progress: Progress) -> list[PaperRow]:
    """Everything that is shown live."""
    with TemporaryDirectory(prefix="penstock-datagram-") as name:
        directory = Path(name)
        runs = {
            (scenario, policy.name): _run(scenario, policy, directory, progress)
            for scenario in (LOAD, CAPACITY, FAIRNESS)
            for policy in (UNCONTROLLED, FLOWS, IMPROVED)
        }
    return [*_load_rows(runs), *_capacity_rows(runs), *_fairness_rows(runs), *tcp_rows(progress)]


Runs = dict[tuple[str, str], LiveRun]


def _run(name: str, policy: Policy, directory: Path, progress: Progress) -> LiveRun:
    progress(f"{name}, {policy.name}")
    scenario = load(name).compressed(COMPRESSED)
    where = directory / f"{name}-{policy.law}"
    where.mkdir()
    return run_live(scenario, policy, where)


def run_live(scenario: DatagramScenario, policy: Policy, directory: Path) -> LiveRun:
    """One run: brokers, clients, and what came of it."""
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
            config = BrokerConfig(
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


def _load_rows(runs: Runs) -> list[PaperRow]:
    free = runs[LOAD, UNCONTROLLED.name]
    name = _live_name(LOAD)

    def lost(policy: str) -> list[float]:
        return [float(runs[LOAD, policy].missed_messages)]

    def fewer(policy: str) -> list[float]:
        return [free.missed_messages / max(1, runs[LOAD, policy].missed_messages)]

    def delivered(policy: str) -> list[float]:
        return [runs[LOAD, policy].received_messages / free.received_messages]

    without = f"{free.missed_messages:,} lost without control"
    return [
        FEWER_LOSSES.both_laws(name, fewer, note=without),
        LOST_UNDER_LOAD.both_laws(name, lost),
        DELIVERED.both_laws(name, delivered),
    ]


def _capacity_rows(runs: Runs) -> list[PaperRow]:
    scenario = load(CAPACITY).compressed(COMPRESSED)
    name = _live_name(CAPACITY)
    could = capacity_messages(scenario)

    def adapted(policy: str) -> list[float]:
        return [adaptation_s(scenario, runs[CAPACITY, policy])]

    def used(policy: str) -> list[float]:
        return [runs[CAPACITY, policy].received_messages / could]

    def lost(policy: str) -> list[float]:
        return [float(runs[CAPACITY, policy].missed_messages)]

    without = f"{runs[CAPACITY, UNCONTROLLED.name].missed_messages:,} lost without control"
    return [
        ADAPTATION.both_laws(name, adapted),
        UTILISATION.both_laws(
            name,
            used,
            note="deliveries against what the link could carry; the capacity changes every 8 s",
        ),
        LOST_IN_CHANGES.both_laws(name, lost, note=without),
    ]


def _fairness_rows(runs: Runs) -> list[PaperRow]:
    scenario = load(FAIRNESS).compressed(COMPRESSED)
    ends_s = [*(step.at_s for step in scenario.bandwidth[2:]), scenario.duration_s]
    rows = []
    for step, end_s in zip(scenario.bandwidth[1:], ends_s, strict=True):
        start_s = step.at_s + SETTLED_S

        def worst(policy: str, start_s: float = start_s, end_s: float = end_s) -> list[float]:
            return [unfairness(scenario, runs[FAIRNESS, policy], start_s, end_s)]

        rates = [
            shown_rates(runs[FAIRNESS, policy.name], len(scenario.pairs), start_s, end_s)
            for policy in (FLOWS, IMPROVED)
        ]
        rows.append(
            UNFAIRNESS.both_laws(
                f"{_live_name(FAIRNESS)}, {step.kbps:g} Kbps",
                worst,
                note=f"{' and '.join(rates)} messages a second, "
                f"{worst(UNCONTROLLED.name)[0]:.0f} % without control",
            )
        )
    return rows


def _live_name(scenario: str) -> str:
    return f"{load(scenario).name}, time compressed {COMPRESSED:g} times (live)"
