"""The experiments of "End-to-End Congestion Control for Content-Based Networks", as one table.

The column "paper's law" is the paper's control with flow numbers beside the publication records;
what records alone give is shown in rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Final

from penstock.lab.papers.datagram_figures import draw_all
from penstock.lab.papers.datagram_records import RecordEstimates, estimate
from penstock.lab.papers.datagram_result import DatagramRun
from penstock.lab.papers.datagram_runs import (
    CAPACITY,
    DISJOINT,
    FAIRNESS,
    LOAD,
    TCP,
    TCP_THIN,
    LargeRuns,
    Runs,
    run_all,
)
from penstock.lab.papers.datagram_scenario import FLOWS, IMPROVED, RECORDS, UNCONTROLLED, load
from penstock.lab.papers.datagram_table import SERVICE, both_laws, shown_alone
from penstock.lab.papers.table import PaperRow, at_least, at_most, row, within

SETTLED_S: Final = 20.0
"""Rates are measured so long after a change."""


def run(*, world: str, seeds: int, out: Path, progress: Callable[[str], None]) -> list[PaperRow]:
    """All rows of this paper; figures go to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    if world == "net":
        # Starting brokers and network namespaces is of no use to the simulator.
        from penstock.lab.papers.datagram_live import live_rows

        return live_rows(out, progress)
    estimates = [estimate(seed) for seed in range(1, seeds + 1)]
    runs, large = run_all(seeds, progress)
    progress("figures")
    draw_all(runs, large, estimates[0], out)
    return [
        *record_rows(estimates),
        *load_rows(runs),
        *capacity_rows(runs),
        *fairness_rows(runs),
        *tcp_rows(runs),
        *disjoint_rows(runs),
        *large_rows(large),
    ]


# -- Figure 5 ----------------------------------------------------------------------------------


def record_rows(estimates: list[RecordEstimates]) -> list[PaperRow]:
    """How far records of five and two messages are from the ideal receiver."""
    ratios = {
        size: [each.mean_rate(size) / each.mean_rate(64) for each in estimates] for size in (5, 2)
    }
    metric = "estimated rate / ideal receiver's"
    return [
        row(
            SERVICE,
            "Figure 5, records of 5",
            metric,
            "x",
            paper="close to ideal",
            bar=within(0.8, 1.25),
            paper_law=ratios[5],
        ),
        shown_alone("Figure 5, records of 2", metric, "x", ratios[2], "often larger"),
    ]


# -- Figure 7 ----------------------------------------------------------------------------------


def load_rows(runs: Runs) -> list[PaperRow]:
    """Variable load."""
    name = load(LOAD).name
    free = runs[LOAD, UNCONTROLLED.name]

    def lost(policy: str) -> list[float]:
        return [float(each.missed_messages) for each in runs[LOAD, policy]]

    def fewer(policy: str) -> list[float]:
        pairs = zip(free, runs[LOAD, policy], strict=True)
        return [before.missed_messages / max(1, after.missed_messages) for before, after in pairs]

    def delivered(policy: str) -> list[float]:
        pairs = zip(free, runs[LOAD, policy], strict=True)
        return [after.received_messages / before.received_messages for before, after in pairs]

    return [
        both_laws(
            name,
            "losses without control / with",
            "x",
            fewer,
            paper="20",
            bar=at_least(20),
            note=f"{free[0].missed_messages:,} lost without control",
        ),
        both_laws(name, "messages lost", "", lost, paper="–", stretch=at_most(50)),
        both_laws(
            name,
            "deliveries / without control",
            "",
            delivered,
            paper="0.98 (45,000 of 46,000)",
            bar=at_least(0.97),
            stretch=at_least(0.97),
        ),
        shown_alone(f"{name}, records alone", "messages lost", "", lost(RECORDS.name), "–"),
    ]


# -- Figure 8 ----------------------------------------------------------------------------------


def adaptation_s(each: DatagramRun) -> float:
    """The longest time until nine tenths of a larger capacity were used."""
    scenario = load(CAPACITY)
    longest = 0.0
    for before, after in zip(scenario.bandwidth, scenario.bandwidth[1:], strict=False):
        if after.kbps < before.kbps:
            continue
        enough = 0.9 * scenario.capacity_msgs_per_s(after.at_s) * each.bucket_ns / 1e9
        first = each.bucket_at(after.at_s)
        received = each.pairs[0].received[first:]
        reached = next((at for at, count in enumerate(received) if count >= enough), len(received))
        longest = max(longest, (reached + 1) * each.bucket_ns / 1e9)
    return longest


def utilisation(each: DatagramRun) -> float:
    """The part of the varying capacity that was used."""
    scenario = load(CAPACITY)
    could = 0.0
    ends = [*(step.at_s for step in scenario.bandwidth[1:]), scenario.duration_s]
    for step, end_s in zip(scenario.bandwidth, ends, strict=True):
        could += (end_s - step.at_s) * step.kbps * 125
    return sum(each.carried_bytes) / could


def capacity_rows(runs: Runs) -> list[PaperRow]:
    """Variable capacity."""
    name = load(CAPACITY).name
    return [
        both_laws(
            name,
            "time to use a doubled capacity",
            "s",
            lambda policy: [adaptation_s(each) for each in runs[CAPACITY, policy]],
            paper="< 2",
            bar=at_most(2),
            stretch=at_most(1),
        ),
        both_laws(
            name,
            "utilisation",
            "",
            lambda policy: [utilisation(each) for each in runs[CAPACITY, policy]],
            paper="–",
            bar=at_least(0.93),
            stretch=at_least(0.95),
        ),
        both_laws(
            name,
            "messages lost",
            "",
            lambda policy: [float(each.missed_messages) for each in runs[CAPACITY, policy]],
            paper="barely noticeable",
            stretch=at_most(49),
        ),
    ]


# -- Figure 9 ----------------------------------------------------------------------------------


def max_min(capacity: float, demands: list[float]) -> list[float]:
    """The fair shares of a capacity."""
    from penstock.datagram.max_min import max_min_shares

    return max_min_shares(capacity, demands, [1.0] * len(demands))


def unfairness(each: DatagramRun, from_s: float, to_s: float) -> float:
    """How far, in per cent, the worst flow is from its fair share."""
    scenario = load(FAIRNESS)
    demands = [pair.matching * pair.rate_msgs_per_s[0].msgs_per_s for pair in scenario.pairs]
    shares = max_min(scenario.capacity_msgs_per_s(from_s), demands)
    rates = [each.rate_msgs_per_s(pair, from_s, to_s) for pair in range(len(demands))]
    return 100 * max(abs(rate - share) / share for rate, share in zip(rates, shares, strict=True))


def fairness_rows(runs: Runs) -> list[PaperRow]:
    """Three pairs of unequal demand."""
    name = load(FAIRNESS).name
    rows = []
    for words, from_s, to_s, paper in (
        ("1 Mbps", 100.0, 200.0, "140/149/149"),
        ("500 Kbps", 200.0, 300.0, "74 each"),
    ):
        start, end = from_s + SETTLED_S, to_s

        def worst(policy: str, start: float = start, end: float = end) -> list[float]:
            return [unfairness(each, start, end) for each in runs[FAIRNESS, policy]]

        def used(policy: str, start: float = start, end: float = end) -> list[float]:
            could = load(FAIRNESS).capacity_msgs_per_s(start) * load(FAIRNESS).message_bytes
            return [each.carried_bytes_per_s(start, end) / could for each in runs[FAIRNESS, policy]]

        shown = [
            round(mean(each.rate_msgs_per_s(pair, start, end) for each in runs[FAIRNESS, policy]))
            for policy in (FLOWS.name, IMPROVED.name)
            for pair in range(3)
        ]
        note = "{}/{}/{} and {}/{}/{} messages a second".format(*shown)
        rows += [
            both_laws(
                f"{name}, {words}",
                "worst flow's distance from max-min",
                "%",
                worst,
                paper=paper,
                bar=at_most(15),
                stretch=at_most(7),
                note=note,
            ),
            both_laws(
                f"{name}, {words}",
                "utilisation",
                "",
                used,
                paper="–",
                stretch=at_least(0.95),
            ),
            shown_alone(
                f"{name}, {words}, records alone",
                "worst flow's distance from max-min",
                "%",
                worst(RECORDS.name),
                "–",
            ),
        ]
    return rows


# -- Figure 10 ---------------------------------------------------------------------------------


def tcp_share(scenario: str, each: DatagramRun) -> float:
    """TCP's part of the link, in per cent, from 20 s after its start."""
    spec = load(scenario)
    assert spec.tcp is not None
    start_s = spec.tcp.start_s + SETTLED_S
    return 100 * each.tcp_bytes_per_s(start_s, spec.duration_s) / (spec.bandwidth[0].kbps * 125)


def tcp_rows(runs: Runs) -> list[PaperRow]:
    """Beside a TCP flow, for a thick and a thin flow; means, because single runs scatter."""
    rows = []
    for scenario, reported in ((TCP, "52.5 (5 % more than the flow)"), (TCP_THIN, "–")):
        name = load(scenario).name

        def share(policy: str, scenario: str = scenario) -> list[float]:
            return [mean(tcp_share(scenario, each) for each in runs[scenario, policy])]

        rows += [
            both_laws(
                name,
                "TCP's part of the link (mean)",
                "%",
                share,
                paper=reported,
                bar=within(40, 60),
                stretch=within(45, 55),
            ),
            shown_alone(
                f"{name}, no control",
                "TCP's part of the link",
                "%",
                share(UNCONTROLLED.name),
                "< 10",
            ),
            shown_alone(
                f"{name}, records alone", "TCP's part of the link", "%", share(RECORDS.name), "–"
            ),
        ]
    return rows


# -- Figure 1 ----------------------------------------------------------------------------------


def disjoint_rows(runs: Runs) -> list[PaperRow]:
    """Only the flow on the congested path is slowed."""

    def moved(policy: str) -> list[float]:
        pairs = zip(runs[DISJOINT, UNCONTROLLED.name], runs[DISJOINT, policy], strict=True)
        return [
            100 * abs(sum(after.near_received) / sum(before.near_received) - 1)
            for before, after in pairs
        ]

    return [
        both_laws(
            load(DISJOINT).name,
            "change of the other subscriber's rate",
            "%",
            moved,
            paper="none (Figure 1)",
            bar=at_most(1),
            stretch=at_most(1),
        )
    ]


# -- Figures 11 and 12 -------------------------------------------------------------------------


def large_rows(large: LargeRuns) -> list[PaperRow]:
    """Eight brokers, 760 clients."""
    name = "large: 8 brokers, 760 clients"
    free = large[UNCONTROLLED.name]

    def against(policy: str, what: str) -> list[float]:
        pairs = zip(free, large[policy], strict=True)
        return [getattr(after, what) / getattr(before, what) for before, after in pairs]

    def lost(policy: str) -> list[float]:
        return [100 * each.missed_part(3) for each in large[policy]]

    return [
        both_laws(
            name,
            "deliveries lost after 3 s",
            "%",
            lost,
            paper="nearly 0",
            bar=at_most(5),
            stretch=at_most(1.5),
            note=f"{lost(UNCONTROLLED.name)[0]:.0f} % without control, "
            f"{lost(RECORDS.name)[0]:.0f} % with records alone; most flows are too thin to be "
            "controlled quickly",
        ),
        both_laws(
            name,
            "use of the bottleneck",
            "",
            lambda policy: [each.utilisation for each in large[policy]],
            paper="> 0.90",
            bar=at_least(0.90),
            stretch=at_least(0.95),
        ),
        both_laws(
            name,
            "delay / without control",
            "",
            lambda policy: against(policy, "mean_delay_s"),
            paper="0.53 (54 of 102 ms)",
            bar=at_most(0.85),
            stretch=at_most(0.5),
            note="thin flows that are not controlled keep the queue long",
        ),
        both_laws(
            name,
            "deliveries / without control",
            "",
            lambda policy: against(policy, "received_messages"),
            paper="0.88, on a workload that is not given",
        ),
        both_laws(
            name,
            "reports to a publisher",
            "1/s",
            lambda policy: [mean(each.feedback[3:]) for each in large[policy]],
            paper="stable (Figure 12a)",
        ),
        both_laws(
            name,
            "flows in a publisher's table",
            "",
            lambda policy: [mean(each.flows[3:]) for each in large[policy]],
            paper="stable (Figure 12b)",
        ),
    ]
