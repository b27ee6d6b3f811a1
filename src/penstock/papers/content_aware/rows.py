"""The rows of the two-broker experiments (Figures 1, 5, 7, 8, 9 and 10)."""

from __future__ import annotations

from statistics import mean
from typing import Final

from penstock.papers.content_aware.measures import (
    adaptation_s,
    capacity_messages,
    shown_rates,
    unfairness,
)
from penstock.papers.content_aware.records import RecordEstimates
from penstock.papers.content_aware.result import DatagramRun
from penstock.papers.content_aware.runs import (
    CAPACITY,
    DISJOINT,
    FAIRNESS,
    LOAD,
    TCP,
    TCP_THIN,
    Runs,
)
from penstock.papers.content_aware.scenario import FLOWS, IMPROVED, RECORDS, UNCONTROLLED, load
from penstock.papers.content_aware.table import (
    ADAPTATION,
    DELIVERED,
    FAIR_UTILISATION,
    FEWER_LOSSES,
    LOST_IN_CHANGES,
    LOST_UNDER_LOAD,
    RECORD_ESTIMATE,
    TCP_SHARE,
    UNFAIRNESS,
    UNMOVED,
    UTILISATION,
)
from penstock.papers.table import PaperRow

SETTLED_S: Final = 20.0
"""Rates are measured this long after a change."""


def record_rows(estimates: list[RecordEstimates]) -> list[PaperRow]:
    """Figure 5: the distance of records of five and two messages from the ideal receiver."""
    ratios = {
        size: [each.mean_rate(size) / each.mean_rate(64) for each in estimates] for size in (5, 2)
    }
    return [
        RECORD_ESTIMATE.judged_alone("Figure 5, records of 5", ratios[5]),
        RECORD_ESTIMATE.shown_alone("Figure 5, records of 2", ratios[2], paper="often larger"),
    ]


def load_rows(runs: Runs) -> list[PaperRow]:
    """Figure 7: variable load."""
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

    without = f"{free[0].missed_messages:,} lost without control"
    return [
        FEWER_LOSSES.both_laws(name, fewer, note=without),
        LOST_UNDER_LOAD.both_laws(name, lost),
        DELIVERED.both_laws(name, delivered),
        LOST_UNDER_LOAD.shown_alone(f"{name}, records alone", lost(RECORDS.name)),
    ]


def capacity_rows(runs: Runs) -> list[PaperRow]:
    """Figure 8: variable capacity."""
    scenario = load(CAPACITY)
    could_bytes = capacity_messages(scenario) * scenario.message_bytes

    def adapted(policy: str) -> list[float]:
        return [adaptation_s(scenario, each) for each in runs[CAPACITY, policy]]

    def used(policy: str) -> list[float]:
        return [sum(each.carried_bytes) / could_bytes for each in runs[CAPACITY, policy]]

    def lost(policy: str) -> list[float]:
        return [float(each.missed_messages) for each in runs[CAPACITY, policy]]

    without = f"{lost(UNCONTROLLED.name)[0]:,.0f} lost without control"
    return [
        ADAPTATION.both_laws(scenario.name, adapted),
        UTILISATION.both_laws(scenario.name, used),
        LOST_IN_CHANGES.both_laws(scenario.name, lost, note=without),
    ]


def fairness_rows(runs: Runs) -> list[PaperRow]:
    """Figure 9: three pairs of unequal demand."""
    return [
        *_fairness_rows(runs, "1 Mbps", 100.0 + SETTLED_S, 200.0, "140/149/149"),
        *_fairness_rows(runs, "500 Kbps", 200.0 + SETTLED_S, 300.0, "74 each"),
    ]


def _fairness_rows(
    runs: Runs, capacity: str, from_s: float, to_s: float, paper: str
) -> list[PaperRow]:
    scenario = load(FAIRNESS)
    name = f"{scenario.name}, {capacity}"
    could = scenario.capacity_msgs_per_s(from_s) * scenario.message_bytes

    def worst(policy: str) -> list[float]:
        return [unfairness(scenario, each, from_s, to_s) for each in runs[FAIRNESS, policy]]

    def used(policy: str) -> list[float]:
        return [each.carried_bytes_per_s(from_s, to_s) / could for each in runs[FAIRNESS, policy]]

    def rates(policy: str) -> str:
        return shown_rates(runs[FAIRNESS, policy][0], len(scenario.pairs), from_s, to_s)

    both = f"{rates(FLOWS.name)} and {rates(IMPROVED.name)} messages a second with the first seed"
    alone = f"{rates(RECORDS.name)} messages a second"
    return [
        UNFAIRNESS.both_laws(name, worst, paper=paper, note=both),
        FAIR_UTILISATION.both_laws(name, used),
        UNFAIRNESS.shown_alone(f"{name}, records alone", worst(RECORDS.name), note=alone),
    ]


def tcp_share(scenario: str, each: DatagramRun) -> float:
    """TCP's share of the link, in per cent, from 20 s after its start."""
    spec = load(scenario)
    assert spec.tcp is not None, f"{scenario} has no TCP flow"
    start_s = spec.tcp.start_s + SETTLED_S
    return 100 * each.tcp_bytes_per_s(start_s, spec.duration_s) / (spec.bandwidth[0].kbps * 125)


def tcp_rows(runs: Runs) -> list[PaperRow]:
    """Figure 10: a thick and a thin flow beside a TCP flow."""
    return [*_tcp_rows(runs, TCP, TCP_SHARE.paper), *_tcp_rows(runs, TCP_THIN, "–")]


def _tcp_rows(runs: Runs, scenario: str, paper: str) -> list[PaperRow]:
    name = load(scenario).name

    def shares(policy: str) -> list[float]:
        return [tcp_share(scenario, each) for each in runs[scenario, policy]]

    def mean_share(policy: str) -> list[float]:
        return [mean(shares(policy))] * len(shares(policy))

    each = ", ".join(f"{share:.0f}" for share in shares(FLOWS.name))
    improved = ", ".join(f"{share:.0f}" for share in shares(IMPROVED.name))
    note = f"the mean is judged, because single runs scatter: {each} and {improved}"
    return [
        TCP_SHARE.both_laws(name, mean_share, paper=paper, note=note),
        TCP_SHARE.shown_alone(f"{name}, no control", shares(UNCONTROLLED.name), paper="< 10"),
        TCP_SHARE.shown_alone(f"{name}, records alone", shares(RECORDS.name)),
    ]


def disjoint_rows(runs: Runs) -> list[PaperRow]:
    """Figure 1: only the flow on the congested path is slowed down."""

    def moved(policy: str) -> list[float]:
        pairs = zip(runs[DISJOINT, UNCONTROLLED.name], runs[DISJOINT, policy], strict=True)
        return [
            100 * abs(sum(after.near_received) / sum(before.near_received) - 1)
            for before, after in pairs
        ]

    return [UNMOVED.both_laws(load(DISJOINT).name, moved)]
