"""The figures of the cost-benefit paper, from our runs: both laws in each picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.lab.experiments.figure import (
    COLOURS,
    LAWS,
    PLAIN,
    Bars,
    Figure,
    Level,
    Line,
    Panel,
    Points,
    Series,
    both_laws,
)
from penstock.lab.experiments.results import Of, Results
from penstock.lab.scenario.model import Measurement
from penstock.papers.cost_benefit.experiments import BENEFITS, MANY, MANY_DURATION_S, STAR_SENDERS
from penstock.papers.cost_benefit.measures import MBIT, PACKET, buffered, sent
from penstock.papers.cost_benefit.rows import CHAIN, LONG, STAR_BUFFER

FLOWS: Final = dict(zip(("AF", "AB", "BC", "CD", "DE", "EF"), COLOURS, strict=True))
CLIENTS: Final = range(20)
CHAIN_S: Final = range(70)


def _most_queued(link: str) -> Measurement:
    """The highest buffer of each second."""
    return Measurement(metric="most_queued_bytes", subject=link)


def _sent(subject: str, label: str = "", colour: str = "") -> Line:
    what = Measurement(metric="sent", subject=subject)
    return Line(label or subject, what, scale=MBIT, colour=colour)


def _rates_and_buffers(name: str, title: str, experiment: str, links: Sequence[str]) -> Figure:
    rates = tuple(_sent(each, f"S_{each}") for each in ("acfg", "cdg"))
    buffers = tuple(
        Line(each.replace("->", "–"), _most_queued(each), "max", scale=PACKET) for each in links
    )
    return Figure(
        name,
        title,
        tuple(
            tuple(
                Panel(f"{experiment} {law}", f"{what}, {label}", unit, lines)
                for law, (label, _) in LAWS.items()
            )
            for what, unit, lines in (("sent", "Mbit/s", rates), ("waiting", "packets", buffers))
        ),
    )


LOTTERY: Final = Panel(
    "lottery paper", "highest buffer of each second", "packets",
    (
        Line("paper's law without the lottery", _most_queued("A->B"), "max", scale=PACKET,
             colour=PLAIN, experiment="lottery without"),
        *both_laws("lottery", _most_queued("A->B"), "max", scale=PACKET),
    ),
)  # fmt: skip


# -- Figure 7: what each client sends --------------------------------------------------------------

VARIATION: Final = sent(10, 70, "acfg", "variation")


def _fairness(law: str) -> Bars:
    label, colour = LAWS[law]
    experiment = f"2 {law}"

    def title(results: Results) -> str:
        return f"{label}: variation {100 * results.median(experiment, VARIATION):.2g} %"

    clients = tuple((each, Of(experiment, sent(10, 70, f"acfg{each}"))) for each in CLIENTS)
    names = tuple(str(each + 1) if each % 5 == 4 or not each else "" for each in CLIENTS)
    return Bars(
        title, "client", "Kbit/s", names,
        (Series("sent", VARIATION, clients, colour, scale=1000 * MBIT),),
        levels=(Level(50, "fair share"),), high=70, needs=(Of(experiment, VARIATION),),
    )  # fmt: skip


# -- Figures 11 and 12: the chain ------------------------------------------------------------------


def _chain(law: str) -> Panel:
    label, _ = LAWS[law]
    experiment = f"3 throughput {law}"

    def title(results: Results) -> str:
        return f"{label}: {MBIT * results.median(experiment, CHAIN):.2f} Mbit/s at the end"

    lines = tuple(_sent(each, colour=colour) for each, colour in FLOWS.items())
    return Panel(experiment, title, "Mbit/s", lines, needs=(Of(experiment, CHAIN),))


def _tcp_title(results: Results) -> str:
    return f"end-to-end TCP: {results.median('3 TCP', 'total'):.2f} Mbit/s at the end"


TCP: Final = Points(
    _tcp_title, "seconds", "Mbit/s",
    tuple(
        Series(each, each, tuple((at, Of("3 TCP", f"{each} {at}")) for at in CHAIN_S), colour)
        for each, colour in FLOWS.items()
    ),
    needs=(Of("3 TCP", "total"),),
)  # fmt: skip


# -- Figure 14: from 5 to 8,000 senders, and the benefit functions ---------------------------------


def _over_senders(short: Measurement, long: Measurement, scale: float) -> tuple[Series, ...]:
    """A measure over the number of senders; the largest number runs longer."""
    return tuple(
        Series(
            label, short,
            (
                *((each, f"star {each} {law}") for each in STAR_SENDERS),
                (MANY, Of(f"star {MANY} {law}", long)),
            ),
            colour, scale=scale,
        )
        for law, (label, colour) in LAWS.items()
    )  # fmt: skip


BUFFERS: Final = _over_senders(STAR_BUFFER, buffered(20, MANY_DURATION_S), PACKET)
JAIN: Final = _over_senders(
    sent(20, 100, aggregate="jain"), sent(20, MANY_DURATION_S, aggregate="jain"), 1.0
)


def _benefits(law: str) -> Bars:
    points = tuple((place, f"3 {name} {law}") for place, name in enumerate(BENEFITS))
    series = (
        Series("all senders", CHAIN, points, COLOURS[5], scale=MBIT),
        Series("A to F alone", LONG, points, COLOURS[4], scale=MBIT),
    )
    return Bars(LAWS[law][0], "benefit", "Mbit/s", tuple(BENEFITS), series, high=13)


FIGURES: Final = (
    Figure("multicast-figure-2", "100 streams on 2 Mbit/s (Figure 2)", ((LOTTERY,),)),
    _rates_and_buffers(
        "multicast-figures-4-and-5",
        "Scenario 1: two bottlenecks, 20 senders each (Figures 4 and 5)",
        "1", ("E->F", "B->D"),
    ),
    Figure("multicast-figure-7", "Scenario 2: what each client of S_acfg sends (Figure 7)",
           (tuple(map(_fairness, LAWS)),)),
    _rates_and_buffers(
        "multicast-figures-8-and-9", "Scenario 2 with delayed senders (Figures 8 and 9)",
        "2 delayed", ("E->G",),
    ),
    Figure("multicast-figures-11-and-12", "Scenario 3: a chain of five links (Figures 11 and 12)",
           ((*map(_chain, LAWS), TCP),)),
    Figure(
        "multicast-figure-14", "Scenario 4: from 5 to 8,000 senders (Figure 14)",
        ((
            Points("highest buffer of A–B", "senders", "packets", BUFFERS, log_x=True),
            Points("Jain's index", "senders", "", JAIN, log_x=True, high=1.05),
        ),),
    ),
    Figure("multicast-benefits", "Scenario 3: what each benefit function does",
           (tuple(map(_benefits, LAWS)),)),
)  # fmt: skip
