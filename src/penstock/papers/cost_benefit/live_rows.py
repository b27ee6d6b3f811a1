"""The live half of the cost-benefit table: Emulab's scenarios 1 and 2, and the chain of CAIRN.

Throughput must be within 4 % of the links' capacity, as the paper reports for Emulab, and two
senders on one link must share it within 5 %.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from penstock.papers.cost_benefit.live import MEASURED_S, Rates, run_live
from penstock.papers.cost_benefit.plans import LAWS
from penstock.papers.cost_benefit.row import SERVICE
from penstock.papers.cost_benefit.scenario import load
from penstock.papers.table import Bar, PaperRow, at_most, row, within
from penstock.services.multicast.parameters import Law

Progress = Callable[[str], None]
Measured: TypeAlias = dict[tuple[str, Law], Rates]
Percent = Callable[[Rates], float]

RUNS: Final = {"1": MEASURED_S, "2": MEASURED_S, "cairn": 2 * MEASURED_S}
"""Duration of each measurement.  On the chain two clients are compared instead of two classes of
twenty, and under the paper's law they differ by chance."""

WITHIN_4_PERCENT: Final = within(96, 101)
"""Share of the link's nominal limit; more than all of it would be an error of measurement."""

OF_THE_CHAIN: Final = within(96, 102)
"""The same for senders that are alone on a link or two: while it is free their messages carry no
price and are 984 bytes long, and each counts as 1000."""

WITHIN_5_PERCENT: Final = at_most(5)


def live_rows(out: Path, progress: Progress) -> list[PaperRow]:
    """All live runs."""
    measured: Measured = {}
    with TemporaryDirectory(prefix="penstock-multicast-") as name:
        for scenario, measured_s in RUNS.items():
            for law in LAWS:
                directory = Path(name) / f"{scenario}-{law}"
                rates = run_live(load(f"multicast-{scenario}"), law, directory, measured_s)
                measured[scenario, law] = rates
                shown = ", ".join(f"{each} {sum(of):.3f}" for each, of in rates.items())
                progress(f"{scenario}, {law} law: {shown} Mbit/s")
    return rows_of(measured)


def rows_of(measured: Measured) -> list[PaperRow]:
    """The table."""
    return [*_emulab(measured), *_chain(measured)]


def of_link(capacity_mbit_per_s: float, *names: str) -> Percent:
    """The share of a link that these classes use."""
    return lambda rates: 100 * sum(sum(rates[name]) for name in names) / capacity_mbit_per_s


def from_fair_share(first: str, second: str) -> Percent:
    """The distance of each of two from half of their sum."""

    def percent(rates: Rates) -> float:
        one, two = sum(rates[first]), sum(rates[second])
        return 100 * abs(one - two) / (one + two)

    return percent


def _both(
    measured: Measured,
    scenario: str,
    run: str,
    metric: str,
    of: Percent,
    *,
    paper: str,
    bar: Bar,
    stretch: Bar | None = None,
    note: str = "",
) -> PaperRow:
    return row(
        SERVICE,
        f"{run} (live)",
        metric,
        "%",
        paper_law=[of(measured[scenario, "paper"])],
        improved_law=[of(measured[scenario, "improved"])],
        paper=paper,
        bar=bar,
        stretch=stretch,
        note=note,
    )


def _emulab(measured: Measured) -> list[PaperRow]:
    two_bottlenecks = (
        ("acfg", 2.0, "96 (1.9 of 1.91 … 2)"),
        ("cdg", 1.0, "96 (0.904 of 0.94)"),
    )
    found = [
        _both(
            measured,
            "1",
            "1: two bottlenecks",
            f"S_{name} of the link",
            of_link(capacity, name),
            paper=paper,
            bar=WITHIN_4_PERCENT,
        )
        for name, capacity, paper in two_bottlenecks
    ]
    run = "2: fair share"
    return [
        *found,
        _both(
            measured,
            "2",
            run,
            "both of the link",
            of_link(2.0, "acfg", "cdg"),
            paper="about 96",
            bar=WITHIN_4_PERCENT,
        ),
        _both(
            measured,
            "2",
            run,
            "each class from its fair share",
            from_fair_share("acfg", "cdg"),
            paper="fairly shared",
            bar=WITHIN_5_PERCENT,
        ),
    ]


def _chain(measured: Measured) -> list[PaperRow]:
    run = "chain of five"
    bottlenecks = (("S1", 1.5, ("S1",)), ("S2 and S3", 1.3, ("S2", "S3")))
    found = [
        _both(
            measured,
            "cairn",
            run,
            f"{title} of the link",
            of_link(capacity, *names),
            paper="86 … 99",
            bar=OF_THE_CHAIN,
            stretch=within(99, 102),
        )
        for title, capacity, names in bottlenecks
    ]
    return [
        *found,
        _both(
            measured,
            "cairn",
            run,
            "S2 and S3 from their fair share",
            from_fair_share("S2", "S3"),
            paper="1.7 (0.618, 0.640)",
            bar=WITHIN_5_PERCENT,
            stretch=at_most(1),
            note="one run; under the paper's law it varies between runs",
        ),
    ]
