"""The table of the cost-benefit paper: its results, the bars, and ours under both laws."""

from __future__ import annotations

from typing import Final

from penstock.papers.cost_benefit.plans import (
    BENEFITS,
    DELAYED,
    SCENARIO_1,
    SCENARIO_1_AT_ONCE,
    SCENARIO_2,
    SCENARIO_2_AT_ONCE,
    SCENARIO_3,
    TCP,
)
from penstock.papers.cost_benefit.result import MulticastResult
from penstock.papers.cost_benefit.row import SERVICE, Rows
from penstock.papers.cost_benefit.runs import Results
from penstock.papers.cost_benefit.scale_rows import scale_rows
from penstock.papers.cost_benefit.settled_rows import settled_rows
from penstock.papers.table import SHOWN, PaperRow, at_least, at_most, row, within

SECOND_CLASS_STARTS_S: Final = 25
HALVED_AT_S: Final = 50
SETTLED_WITHIN: Final = 0.2
"""A class has adapted when it sends its share within a fifth in a second."""


def rows_of(results: Results) -> list[PaperRow]:
    """The complete table."""
    rows = Rows(results)
    return [
        *_scenario_1(rows),
        *_scenario_2(rows),
        *_delayed(rows),
        *_scenario_3(rows),
        *scale_rows(rows),
        *settled_rows(rows),
    ]


def _scenario_1(rows: Rows) -> list[PaperRow]:
    found = []
    for name, plans in (("", SCENARIO_1), (", all at once", SCENARIO_1_AT_ONCE)):
        run = f"1: two bottlenecks{name}"
        for flow, paper, capacity in (("acfg", 1.977, 2.0), ("cdg", 0.992, 1.0)):
            found.append(
                rows.both(
                    plans,
                    run,
                    f"S_{flow} sends",
                    "Mbit/s",
                    lambda result, flow=flow: result.class_mbit_per_s(flow),  # type: ignore[misc]
                    paper=f"{paper}",
                    bar=at_least(paper),
                    stretch=at_least(0.998 * capacity),
                )
            )
    return found


def _worst_variation(result: MulticastResult) -> float:
    return 100 * max(result.variation("acfg"), result.variation("cdg"))


def _scenario_2(rows: Rows) -> list[PaperRow]:
    found = []
    for name, plans in (("", SCENARIO_2), (", all at once", SCENARIO_2_AT_ONCE)):
        run = f"2: fair share{name}"
        for flow, paper in (("acfg", "997.3"), ("cdg", "997.6")):
            found.append(
                rows.both(
                    plans,
                    run,
                    f"S_{flow} sends",
                    "Kbit/s",
                    lambda result, flow=flow: 1000 * result.class_mbit_per_s(flow),  # type: ignore[misc]
                    paper=paper,
                    bar=within(990, 1010),
                )
            )
        found += [
            rows.both(
                plans,
                run,
                "variation between clients",
                "%",
                _worst_variation,
                paper="< 4.6",
                bar=at_most(4.6),
                stretch=at_most(0.5),
            ),
            rows.buffer(plans, run, paper="< 150", bar=at_most(150)),
        ]
    return found


def adaptation_s(result: MulticastResult, changed_at_s: int, share_mbit_per_s: float) -> float:
    """Seconds from a change to the end of the first one in which both classes send their share."""
    one, other = result.sent_by_second["acfg"], result.sent_by_second["cdg"]
    for second in range(changed_at_s, len(one)):
        rates = (one[second], other[second])
        if all(abs(each / share_mbit_per_s - 1) <= SETTLED_WITHIN for each in rates):
            return second + 1 - changed_at_s
    return float("inf")


def _delayed(rows: Rows) -> list[PaperRow]:
    run = "2: delayed senders"
    return [
        rows.both(
            DELAYED,
            run,
            "adapts to the second class",
            "s",
            lambda result: adaptation_s(result, SECOND_CLASS_STARTS_S, 1.0),
            paper="< 5",
            bar=at_most(5),
            stretch=at_most(2),
        ),
        rows.both(
            DELAYED,
            run,
            "adapts to half the bandwidth",
            "s",
            lambda result: adaptation_s(result, HALVED_AT_S, 0.5),
            paper="< 5",
            bar=at_most(5),
            stretch=at_most(2),
        ),
        rows.buffer(DELAYED, run, paper="no spike", bar=at_most(150)),
    ]


def _scenario_3(rows: Rows) -> list[PaperRow]:
    found = [
        rows.throughput(
            SCENARIO_3,
            "3: chain of five",
            paper="9.677 of 10",
            bar=at_least(9.677),
            note="full links carry 10, less four times what A to F gets; A to F gets its draws",
        ),
        row(
            SERVICE,
            "3: chain of five, end-to-end TCP",
            "A to F alone",
            "Mbit/s",
            paper="almost 0",
            bar=at_most(0.5),
            paper_law=rows.values(TCP, lambda result: result.class_mbit_per_s("AF")),
            note="NewReno; its fair share would be 1",
        ),
    ]
    for name, plans in BENEFITS.items():
        found.append(
            rows.both(
                plans,
                f"3: benefit {name}",
                "A to F alone",
                "Mbit/s",
                lambda result: result.class_mbit_per_s("AF"),
                paper="–",
                bar=SHOWN,
            )
        )
    return found
