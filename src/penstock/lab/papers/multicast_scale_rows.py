"""The other half of the cost-benefit table: many senders, start-up, control, distance."""

from __future__ import annotations

from penstock.lab.papers.multicast_plans import (
    CHECKED,
    FAR_AWAY,
    LAWS,
    LOTTERY,
    MANY,
    SCENARIO_1,
    SCENARIO_1_AT_ONCE,
    SCENARIO_2,
    STARS,
)
from penstock.lab.papers.multicast_row import SERVICE, Measure, Rows, highest, total
from penstock.lab.papers.multicast_runs import STAR_SENDERS, RunPlan
from penstock.lab.papers.table import SHOWN, PaperRow, at_least, at_most, row, within
from penstock.multicast.parameters import Law

FEW = (
    "a few senders stay rich under the paper's law, and spend their savings at once whenever the "
    "price touches zero"
)


def scale_rows(rows: Rows) -> list[PaperRow]:
    """Everything beyond the first three scenarios."""
    return [
        *_scenario_4(rows),
        *_start_up(rows),
        *_lottery(rows),
        *_control(rows),
        *_beyond(rows),
    ]


def _scenario_4(rows: Rows) -> list[PaperRow]:
    eight_hundred: dict[Law, RunPlan] = {law: STARS[law, 800] for law in LAWS}
    found = [
        rows.both(
            eight_hundred,
            "4: 800 senders, 1,602 brokers",
            "all senders",
            "Mbit/s",
            total,
            paper="1.979",
            bar=at_least(1.979),
        ),
        rows.both(
            eight_hundred,
            "4: 800 senders, 1,602 brokers",
            "highest buffer",
            "packets",
            highest,
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
                    highest,
                    paper="< 170",
                    bar=at_most(190),
                    stretch=at_most(55),
                    note=FEW if senders < 10 else "",
                )
            )
    found += [
        rows.both(
            MANY,
            "4: 8,000 senders",
            "highest buffer",
            "packets",
            highest,
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
    without = rows.values(LOTTERY["without"], highest)
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
            paper_law=rows.values(LOTTERY["paper"], highest),
            improved_law=rows.values(LOTTERY["improved"], highest),
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
            highest,
            paper="–",
            bar=SHOWN,
            stretch=at_most(55),
        ),
        rows.both(
            FAR_AWAY,
            "2: links six times as long",
            "all senders",
            "Mbit/s",
            total,
            paper="–",
            bar=SHOWN,
            stretch=at_least(1.98),
        ),
        rows.both(
            CHECKED,
            "2: arrays instead of machines",
            "all senders",
            "Mbit/s",
            total,
            paper="–",
            bar=within(1.98, 2.02),
            note="to be compared with 2: fair share, which the broker machines ran",
        ),
        rows.both(
            CHECKED,
            "2: arrays instead of machines",
            "highest buffer",
            "packets",
            highest,
            paper="–",
            bar=at_most(150),
            note="the same",
        ),
    ]
