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
from penstock.lab.papers.datagram_runs import CAPACITY, FAIRNESS, LOAD
from penstock.lab.papers.datagram_scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    DatagramScenario,
    Policy,
    load,
)
from penstock.lab.papers.datagram_table import both_laws
from penstock.lab.papers.table import PaperRow, at_least, at_most
from penstock.net.config import BrokerConfig, NeighbourConfig
from penstock.net.config_file import write_config
from penstock.net.process import BrokerProcess, free_port

COMPRESSED: Final = 5.0
NEAR, FAR = "near", "far"
Progress = Callable[[str], None]


def live_rows(out: Path, progress: Progress) -> list[PaperRow]:
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
    name = f"{load(LOAD).name}, time compressed {COMPRESSED:g} times (live)"

    def fewer(policy: str) -> list[float]:
        return [free.missed_messages / max(1, runs[LOAD, policy].missed_messages)]

    def delivered(policy: str) -> list[float]:
        return [runs[LOAD, policy].received_messages / free.received_messages]

    return [
        both_laws(
            name,
            "losses without control / with",
            "x",
            fewer,
            paper="20",
            bar=at_least(20),
            note=f"{free.missed_messages:,} lost without control; "
            f"{runs[LOAD, FLOWS.name].missed_messages:,} and "
            f"{runs[LOAD, IMPROVED.name].missed_messages:,} with",
        ),
        both_laws(
            name,
            "deliveries / without control",
            "",
            delivered,
            paper="0.98",
            bar=at_least(0.9),
        ),
    ]


def _capacity_rows(runs: Runs) -> list[PaperRow]:
    scenario = load(CAPACITY).compressed(COMPRESSED)
    name = f"{scenario.name}, time compressed {COMPRESSED:g} times (live)"
    ends = [*(step.at_s for step in scenario.bandwidth[1:]), scenario.duration_s]
    could = sum(
        (end_s - step.at_s) * scenario.capacity_msgs_per_s(step.at_s)
        for step, end_s in zip(scenario.bandwidth, ends, strict=True)
    )
    return [
        both_laws(
            name,
            "deliveries / what the link carries",
            "",
            lambda policy: [runs[CAPACITY, policy].received_messages / could],
            paper="–",
            bar=at_least(0.8),
            note="the capacity changes every 8 s",
        ),
        both_laws(
            name,
            "messages lost",
            "",
            lambda policy: [float(runs[CAPACITY, policy].missed_messages)],
            paper="barely noticeable",
            note=f"{runs[CAPACITY, UNCONTROLLED.name].missed_messages:,} without control",
        ),
    ]


def _fairness_rows(runs: Runs) -> list[PaperRow]:
    scenario = load(FAIRNESS).compressed(COMPRESSED)
    rows = []
    for step, end_s in zip(scenario.bandwidth[1:], (40.0, 60.0), strict=True):
        share = scenario.capacity_msgs_per_s(step.at_s) / len(scenario.pairs)
        start_s = step.at_s + 5

        def worst(policy: str, start_s: float = start_s, end_s: float = end_s) -> list[float]:
            run = runs[FAIRNESS, policy]
            rates = [run.rate_msgs_per_s(pair, start_s, end_s) for pair in range(3)]
            mean = sum(rates) / len(rates)
            return [100 * max(abs(rate - mean) / mean for rate in rates)]

        rows.append(
            both_laws(
                f"{scenario.name}, {step.kbps:g} Kbps, time compressed {COMPRESSED:g} times (live)",
                "worst flow's distance from the mean",
                "%",
                worst,
                paper="fair",
                bar=at_most(25),
                note=f"the fair share is {share:.0f} messages a second; without control the "
                f"distance is {worst(UNCONTROLLED.name)[0]:.0f} %",
            )
        )
    return rows
