"""The table of the cost-benefit paper: what it reports, the bars, and ours under both laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.lab.papers.multicast_plans import (
    BENEFITS,
    CHECKED,
    DELAYED,
    FAR_AWAY,
    LAWS,
    LOTTERY,
    MANY,
    SCENARIO_1,
    SCENARIO_1_AT_ONCE,
    SCENARIO_2,
    SCENARIO_2_AT_ONCE,
    SCENARIO_3,
    STARS,
    TCP,
)
from penstock.lab.papers.multicast_result import MulticastResult
from penstock.lab.papers.multicast_runs import STAR_SENDERS, Results, RunPlan
from penstock.lab.papers.table import SHOWN, Bar, PaperRow, at_least, at_most, row, within
from penstock.multicast.parameters import Law

SERVICE: Final = "multicast"
Measure = Callable[[MulticastResult], float]

SECOND_CLASS_STARTS_S: Final = 25
HALVED_AT_S: Final = 50
SETTLED_WITHIN: Final = 0.2
"""A class has adapted when it sends its share to a fifth, on average over two seconds."""


class Rows:
    """Makes rows from results."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def both(
        self,
        plans: dict[Law, RunPlan],
        run: str,
        metric: str,
        unit: str,
        measure: Measure,
        *,
        paper: str,
        bar: Bar,
        stretch: Bar | None = None,
        note: str = "",
    ) -> PaperRow:
        """One quantity under both laws."""
        return row(
            SERVICE,
            run,
            metric,
            unit,
            paper=paper,
            bar=bar,
            stretch=stretch,
            paper_law=map(measure, self._results[plans["paper"]]),
            improved_law=map(measure, self._results[plans["improved"]]),
            note=note,
        )

    def values(self, plan: RunPlan, measure: Measure) -> list[float]:
        """One quantity of one plan."""
        return [measure(each) for each in self._results[plan]]


def rows_of(results: Results) -> list[PaperRow]:
    """The whole table."""
    rows = Rows(results)
    return [
        *_scenario_1(rows),
        *_scenario_2(rows),
        *_delayed(rows),
        *_scenario_3(rows),
        *_scenario_4(rows),
        *_start_up(rows),
        *_lottery(rows),
        *_control(rows),
        *_beyond(rows),
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


def _highest(result: MulticastResult) -> float:
    return result.highest


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
            rows.both(
                plans,
                run,
                "highest buffer",
                "packets",
                _highest,
                paper="< 150",
                bar=at_most(150),
                stretch=at_most(55),
            ),
        ]
    return found


def adaptation_s(result: MulticastResult, changed_at_s: int, share_mbit_per_s: float) -> float:
    """Seconds from a change until both classes send their share."""
    sent = result.sent_by_second
    for second in range(changed_at_s, len(sent["acfg"]) - 1):
        means = [(each[second] + each[second + 1]) / 2 for each in (sent["acfg"], sent["cdg"])]
        if all(abs(each / share_mbit_per_s - 1) <= SETTLED_WITHIN for each in means):
            return second - changed_at_s
    return float(len(sent["acfg"]) - changed_at_s)


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
        rows.both(
            DELAYED,
            run,
            "highest buffer",
            "packets",
            _highest,
            paper="no spike",
            bar=at_most(150),
            stretch=at_most(55),
        ),
    ]


def _total(result: MulticastResult) -> float:
    return result.total_mbit_per_s


def _scenario_3(rows: Rows) -> list[PaperRow]:
    note = (
        "the paper's law leaves a link idle for a moment each time a period that was doubled must "
        "shrink again; the settled rules are those that also survive synchronised starts"
    )
    found = [
        rows.both(
            SCENARIO_3,
            "3: chain of five",
            "all senders",
            "Mbit/s",
            _total,
            paper="9.677 of 10",
            bar=at_least(9.677),
            note=note,
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


def _scenario_4(rows: Rows) -> list[PaperRow]:
    eight_hundred: dict[Law, RunPlan] = {law: STARS[law, 800] for law in LAWS}
    found = [
        rows.both(
            eight_hundred,
            "4: 800 senders, 1,602 brokers",
            "all senders",
            "Mbit/s",
            _total,
            paper="1.979",
            bar=at_least(1.979),
        ),
        rows.both(
            eight_hundred,
            "4: 800 senders, 1,602 brokers",
            "highest buffer",
            "packets",
            _highest,
            paper="< 170",
            bar=at_most(190),
            stretch=at_most(55),
        ),
    ]
    for senders in STAR_SENDERS:
        plans: dict[Law, RunPlan] = {law: STARS[law, senders] for law in LAWS}
        found.append(
            rows.both(
                plans,
                f"4: {senders} senders",
                "Jain's index",
                "",
                lambda result: result.jain,
                paper="–",
                bar=SHOWN,
                stretch=at_least(0.98),
            )
        )
        if senders != 800:
            found.append(
                rows.both(
                    plans,
                    f"4: {senders} senders",
                    "highest buffer",
                    "packets",
                    _highest,
                    paper="< 170",
                    bar=at_most(190),
                    stretch=at_most(55),
                )
            )
    found += [
        rows.both(
            MANY,
            "4: 8,000 senders",
            "highest buffer",
            "packets",
            _highest,
            paper="–",
            bar=SHOWN,
            stretch=at_most(55),
        ),
        rows.both(
            MANY,
            "4: 8,000 senders",
            "Jain's index",
            "",
            lambda result: result.jain,
            paper="–",
            bar=SHOWN,
            stretch=at_least(0.98),
        ),
    ]
    return found


def _start_up(rows: Rows) -> list[PaperRow]:
    runs: tuple[tuple[str, dict[Law, RunPlan]], ...] = (
        ("1", SCENARIO_1),
        ("1, all at once", SCENARIO_1_AT_ONCE),
        ("4: 800 senders", {law: STARS[law, 800] for law in LAWS}),
    )
    return [
        rows.both(
            plans,
            f"start-up spike, {name}",
            "highest buffer",
            "packets",
            lambda result: result.start_up_buffer,
            paper="–",
            bar=SHOWN,
            stretch=at_most(200),
        )
        for name, plans in runs
    ]


def _lottery(rows: Rows) -> list[PaperRow]:
    run = "randomisation, 100 streams on 2 Mbit/s"
    without = rows.values(LOTTERY["without"], _highest)
    return [
        row(
            SERVICE,
            f"{run}: without",
            "highest buffer",
            "packets",
            paper="higher",
            bar=SHOWN,
            paper_law=without,
        ),
        row(
            SERVICE,
            f"{run}: with",
            "highest buffer",
            "packets",
            paper="lower",
            bar=at_most(0.75 * min(without)),
            paper_law=rows.values(LOTTERY["paper"], _highest),
            improved_law=rows.values(LOTTERY["improved"], _highest),
            note="the improved law needs no lottery",
        ),
    ]


def _control(rows: Rows) -> list[PaperRow]:
    def of(link: str) -> Measure:
        return lambda result: 100 * result.control_share[link]

    return [
        rows.both(
            SCENARIO_2,
            "control traffic on 2 Mbit/s",
            "prices of a congested link",
            "%",
            of("E->G"),
            paper="0.5",
            bar=at_most(0.55),
        ),
        rows.both(
            SCENARIO_2,
            "control traffic on 2 Mbit/s",
            "prices of another link",
            "%",
            of("E->F"),
            paper="0.01",
            bar=at_most(0.011),
        ),
    ]


def _beyond(rows: Rows) -> list[PaperRow]:
    return [
        rows.both(
            FAR_AWAY,
            "2: links six times as long",
            "highest buffer",
            "packets",
            _highest,
            paper="–",
            bar=SHOWN,
            stretch=at_most(55),
        ),
        rows.both(
            FAR_AWAY,
            "2: links six times as long",
            "all senders",
            "Mbit/s",
            _total,
            paper="–",
            bar=SHOWN,
            stretch=at_least(1.98),
        ),
        rows.both(
            CHECKED,
            "2: arrays instead of machines",
            "all senders",
            "Mbit/s",
            _total,
            paper="–",
            bar=within(1.98, 2.02),
            note="to be compared with 2: fair share, which the broker machines ran",
        ),
        rows.both(
            CHECKED,
            "2: arrays instead of machines",
            "highest buffer",
            "packets",
            _highest,
            paper="–",
            bar=at_most(150),
            note="the same",
        ),
    ]
