"""The other half of the cost-benefit table: many senders, start-up, control, distance."""

from __future__ import annotations

from typing import Final

from penstock.papers.cost_benefit.plans import (
    CHECKED,
    CHECKED_SENDERS,
    CHECKED_STAR,
    FAR_AWAY,
    LAWS,
    LOTTERY,
    MANY,
    SCENARIO_1,
    SCENARIO_1_AT_ONCE,
    SCENARIO_2,
    STARS,
)
from penstock.papers.cost_benefit.row import SERVICE, Measure, Rows, highest
from penstock.papers.cost_benefit.runs import STAR_SENDERS, RunPlan
from penstock.papers.table import SHOWN, PaperRow, at_least, at_most, row
from penstock.services.multicast.parameters import Law

FEW: Final = (
    "a few senders are paid every 20 ms, stay rich, and spend their savings at once when the price "
    "touches zero: 5 times 20 packets, and what is paid until the next price; a shortest period "
    "of 30 ms would do here, and takes scenario 3 below its bar"
)

AGREES: Final = "the same seeds as arrays and with the broker machines"


def scale_rows(rows: Rows) -> list[PaperRow]:
    """The rows beyond the first three scenarios."""
    return [
        *_eight_hundred(rows),
        *_from_five_to_eight_thousand(rows),
        *_start_up(rows),
        *_lottery(rows),
        *_control(rows),
        *_far_away(rows),
        *_arrays_against_machines(rows),
    ]


def _stars(senders: int) -> dict[Law, RunPlan]:
    return {law: STARS[law, senders] for law in LAWS}


def _eight_hundred(rows: Rows) -> list[PaperRow]:
    run = "4: 800 senders, 1,602 brokers"
    return [
        rows.throughput(_stars(800), run, paper="1.979", bar=at_least(1.979)),
        rows.buffer(_stars(800), run, paper="< 170", bar=at_most(190)),
    ]


def _from_five_to_eight_thousand(rows: Rows) -> list[PaperRow]:
    found = []
    for senders in STAR_SENDERS:
        run = f"4: {senders} senders"
        found.append(_fairness(rows, _stars(senders), run))
        if senders != 800:
            note = FEW if senders < 10 else ""
            found.append(
                rows.buffer(_stars(senders), run, paper="< 170", bar=at_most(190), note=note)
            )
    run = "4: 8,000 senders"
    return [*found, rows.buffer(MANY, run), _fairness(rows, MANY, run)]


def _fairness(rows: Rows, plans: dict[Law, RunPlan], run: str) -> PaperRow:
    return rows.both(
        plans,
        run,
        "Jain's index",
        "",
        lambda result: result.jain,
        paper="–",
        bar=SHOWN,
        stretch=at_least(0.98),
    )


def _start_up(rows: Rows) -> list[PaperRow]:
    runs = (
        ("1", SCENARIO_1),
        ("1, all at once", SCENARIO_1_AT_ONCE),
        ("4: 800 senders", _stars(800)),
    )
    return [
        rows.buffer(
            plans,
            f"start-up spike, {name}",
            lambda result: result.start_up_buffer,
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

    run = "control traffic on 2 Mbit/s"
    return [
        rows.both(
            SCENARIO_2,
            run,
            "prices of a congested link",
            "%",
            of("E->G"),
            paper="0.5",
            bar=at_most(0.55),
            note="on E to B, where no data goes that a price could ride on",
        ),
        rows.both(
            SCENARIO_2,
            run,
            "prices of another link",
            "%",
            of("E->F"),
            paper="0.01",
            bar=at_most(0.011),
        ),
        rows.both(
            SCENARIO_2,
            run,
            "prices from B to C that rode on data",
            "%",
            lambda result: 100 * result.ridden_share["B->C"],
            paper="whenever possible",
            bar=SHOWN,
            note="data of 1 Mbit/s goes the same way; a price waits for it 10 ms at most",
        ),
    ]


def _far_away(rows: Rows) -> list[PaperRow]:
    run = "2: links six times as long"
    return [
        rows.buffer(FAR_AWAY, run),
        rows.throughput(FAR_AWAY, run, stretch=at_least(1.98)),
    ]


def _arrays_against_machines(rows: Rows) -> list[PaperRow]:
    pairs = (
        ("2: arrays and machines", CHECKED, SCENARIO_2),
        (
            f"4: {CHECKED_SENDERS} senders, arrays and machines",
            _stars(CHECKED_SENDERS),
            CHECKED_STAR,
        ),
    )
    found = []
    for run, arrays, machines in pairs:
        found += [
            rows.difference(
                arrays,
                machines,
                run,
                "difference of all senders",
                "%",
                lambda result: 100 * result.total_mbit_per_s / 2.0,
                bar=at_most(1),
                note=AGREES,
            ),
            rows.difference(
                arrays,
                machines,
                run,
                "difference of highest buffer",
                "packets",
                highest,
                bar=at_most(15),
                note="a tenth of the bar of 150",
            ),
        ]
    return found
