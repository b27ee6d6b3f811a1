"""The rows of the cost-benefit table: the paper's results, the bars, and what is measured.

Bars and stretches are those of docs/papers/cost-benefit.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import SHOWN, Bar, at_least, at_most, within
from penstock.papers.cost_benefit import experiments, measures
from penstock.papers.cost_benefit.experiments import CHECKED, LIVE_S, LIVE_WARM_UP_S
from penstock.papers.cost_benefit.measures import MBIT, PACKET, buffered, sent

SMALL_BUFFER: Final = at_most(55)
"""The bound on every buffer under the improved law, from 5 to 8,000 senders."""

BUFFER: Final = buffered(10, 70)
TOTAL: Final = sent(10, 70)
CHAIN: Final = sent(35, 70)
LONG: Final = sent(35, 70, "AF")
STAR_BUFFER: Final = buffered(20, 100)
STAR: Final = sent(20, 100)

FEW: Final = (
    "a few senders are paid every 20 ms, stay rich, and spend their savings at once when the price "
    "touches zero: 5 times 20 packets, and what is paid until the next price; a shortest period "
    "of 30 ms would do here, and takes scenario 3 below its bar"
)


# -- scenarios 1 to 3 ------------------------------------------------------------------------------


def _scenario_1() -> Iterator[Row]:
    for name, laws in (("", "1"), (", all at once", "1 at once")):
        for flow, paper, capacity in (("acfg", 1.977, 2.0), ("cdg", 0.992, 1.0)):
            yield Row(f"1: two bottlenecks{name}", f"S_{flow} sends", "Mbit/s", f"{paper}",
                      at_least(paper), stretch=at_least(0.998 * capacity), laws=laws,
                      measure=sent(10, 70, flow), scale=MBIT)  # fmt: skip


def _scenario_2() -> Iterator[Row]:
    for name, laws in (("", "2"), (", all at once", "2 at once")):
        run = f"2: fair share{name}"
        for flow, paper in (("acfg", "997.3"), ("cdg", "997.6")):
            yield Row(run, f"S_{flow} sends", "Kbit/s", paper, within(990, 1010), laws=laws,
                      measure=sent(10, 70, flow), scale=1000 * MBIT)  # fmt: skip
        yield Row(run, "variation between clients", "%", "< 4.6", at_most(4.6),
                  stretch=at_most(0.5), laws=laws, measure=measures.worst_variation)  # fmt: skip
        yield Row(run, "highest buffer", "packets", "< 150", at_most(150), stretch=SMALL_BUFFER,
                  laws=laws, measure=BUFFER, scale=PACKET)  # fmt: skip


DELAYED: Final = (
    Row("2: delayed senders", "adapts to the second class", "s", "< 5", at_most(5),
        stretch=at_most(2), laws="2 delayed",
        measure=partial(measures.adaptation_s, changed_at_s=25, share_mbit_per_s=1.0)),
    Row("2: delayed senders", "adapts to half the bandwidth", "s", "< 5", at_most(5),
        stretch=at_most(2), laws="2 delayed",
        measure=partial(measures.adaptation_s, changed_at_s=50, share_mbit_per_s=0.5)),
    Row("2: delayed senders", "highest buffer", "packets", "no spike", at_most(150),
        stretch=SMALL_BUFFER, laws="2 delayed", measure=buffered(10, 75), scale=PACKET),
)  # fmt: skip

SCENARIO_3: Final = (
    Row("3: chain of five", "all senders", "Mbit/s", "9.677 of 10", at_least(9.677),
        laws="3 throughput", measure=CHAIN, scale=MBIT,
        note="full links carry 10, less four times what A to F gets; A to F gets its draws"),
    Row("3: chain of five, end-to-end TCP", "A to F alone", "Mbit/s", "almost 0", at_most(0.5),
        paper_law="3 TCP", measure="AF", note="NewReno; its fair share would be 1"),
    *(
        Row(f"3: benefit {name}", "A to F alone", "Mbit/s", laws=f"3 {name}", measure=LONG,
            scale=MBIT)
        for name in experiments.BENEFITS
    ),
    *(
        Row(f"3: benefit {name}", "highest buffer", "packets", stretch=at_most(25),
            laws=f"3 {name}", measure=buffered(35, 70), scale=PACKET,
            note="the improved law's target is 15; packets name the price of every full link")
        for name in experiments.BENEFITS
    ),
)  # fmt: skip


# -- scenario 4 ------------------------------------------------------------------------------------


def _jain(run: str, senders: int, end_s: float) -> Row:
    return Row(run, "Jain's index", "", stretch=at_least(0.98), laws=f"star {senders}",
               measure=sent(20, end_s, aggregate="jain"))  # fmt: skip


def _scenario_4() -> Iterator[Row]:
    run = "4: 800 senders, 1,602 brokers"
    yield Row(run, "all senders", "Mbit/s", "1.979", at_least(1.979), laws="star 800",
              measure=STAR, scale=MBIT)  # fmt: skip
    yield Row(run, "highest buffer", "packets", "< 170", at_most(190), stretch=SMALL_BUFFER,
              laws="star 800", measure=STAR_BUFFER, scale=PACKET)  # fmt: skip
    for senders in experiments.STAR_SENDERS:
        yield _jain(f"4: {senders} senders", senders, 100)
        if senders != 800:
            yield Row(f"4: {senders} senders", "highest buffer", "packets", "< 170", at_most(190),
                      stretch=SMALL_BUFFER, laws=f"star {senders}", measure=STAR_BUFFER,
                      scale=PACKET, note=FEW if senders < 10 else "")  # fmt: skip
    many, end_s = experiments.MANY, experiments.MANY_DURATION_S
    yield Row(f"4: {many:,} senders", "highest buffer", "packets", stretch=SMALL_BUFFER,
              laws=f"star {many}", measure=buffered(20, end_s), scale=PACKET)  # fmt: skip
    yield _jain(f"4: {many:,} senders", many, end_s)


# -- start-up, randomisation, control, distance ----------------------------------------------------

START_UP: Final = tuple(
    Row(f"start-up spike, {name}", "highest buffer", "packets", stretch=at_most(200), laws=laws,
        measure=buffered(0, warm_up_s), scale=PACKET)
    for name, laws, warm_up_s in (
        ("1", "1", 10), ("1, all at once", "1 at once", 10), ("4: 800 senders", "star 800", 20)
    )
)  # fmt: skip


def _clearly_lower(results: Results) -> Bar:
    return at_most(0.75 * PACKET * min(results.values("lottery without", BUFFER)))


LOTTERY: Final = (
    Row("randomisation, 100 streams on 2 Mbit/s: without", "highest buffer", "packets", "higher",
        paper_law="lottery without", measure=BUFFER, scale=PACKET),
    Row("randomisation, 100 streams on 2 Mbit/s: with", "highest buffer", "packets", "lower",
        _clearly_lower, laws="lottery", measure=BUFFER, scale=PACKET,
        needs=(Of("lottery without", BUFFER),), note="the improved law needs no lottery"),
)  # fmt: skip

OF_2_MBIT: Final = 100 / 250_000
"""Per cent of 2 Mbit/s that one byte a second takes."""

CONTROL: Final = (
    Row("control traffic on 2 Mbit/s", "prices of a congested link", "%", "0.5", at_most(0.55),
        laws="2", measure=measures.price_bytes("E->G"), scale=OF_2_MBIT,
        note="on E to B, where no data goes that a price could ride on"),
    Row("control traffic on 2 Mbit/s", "prices of another link", "%", "0.01", at_most(0.011),
        laws="2", measure=measures.price_bytes("E->F"), scale=OF_2_MBIT),
    Row("control traffic on 2 Mbit/s", "prices from B to C that rode on data", "%",
        "whenever possible", SHOWN, laws="2", scale=100,
        measure=partial(measures.ridden_share, link="B->C"),
        note="data of 1 Mbit/s goes the same way; a price waits for it 10 ms at most"),
)  # fmt: skip

FAR_AWAY: Final = (
    Row("2: links six times as long", "highest buffer", "packets", stretch=SMALL_BUFFER,
        laws="2 far", measure=BUFFER, scale=PACKET),
    Row("2: links six times as long", "all senders", "Mbit/s", stretch=at_least(1.98),
        laws="2 far", measure=TOTAL, scale=MBIT),
)  # fmt: skip

OF_ONE_BYTE: Final = 8e-6
"""Mbit/s of one byte a second."""

BESIDE_TCP: Final = (
    Row("2: beside TCP on E-G from 25 to 50 s", "all senders beside it", "Mbit/s",
        "as one TCP flow", at_least(0.9), laws="2 beside TCP", measure=sent(30, 50), scale=MBIT,
        note="half of 2 Mbit/s is 1; what TCP leaves when it backs off is there too"),
    Row("2: beside TCP on E-G from 25 to 50 s", "the TCP connection", "Mbit/s", "as one TCP flow",
        at_least(0.5), laws="2 beside TCP", measure=measures.tcp(30, 50), scale=OF_ONE_BYTE),
    Row("2: beside TCP on E-G from 25 to 50 s", "all senders 5 s after its end", "Mbit/s", "2",
        at_least(1.96), laws="2 beside TCP", measure=sent(55, 70), scale=MBIT),
    Row("2: beside TCP on E-G from 25 to 50 s", "highest buffer", "packets", bar=at_most(150),
        stretch=SMALL_BUFFER, laws="2 beside TCP", measure=buffered(10, 70), scale=PACKET),
)  # fmt: skip

BY_RECEIVERS: Final = tuple(
    Row(f"2: benefit by what is {counts}", metric, "Mbit/s", laws=laws, measure=measure,
        scale=MBIT)
    for counts, laws in (("sent", "2"), ("received", "2 received"))
    for metric, measure in (
        ("all members receive", measures.received(10, 70)),
        ("S_acfg, with three members, sends", sent(10, 70, "acfg")),
    )
)  # fmt: skip


# -- arrays against machines, and constants that the paper leaves open -----------------------------


def _apart(values: Sequence[Sequence[float]]) -> list[float]:
    """The difference of two kinds of run, seed by seed."""
    return [abs(one - other) for one, other in zip(*values, strict=False)]


def _arrays_against_machines() -> Iterator[Row]:
    for run, arrays, machines, total, buffer in (
        ("2: arrays and machines", "2 arrays", "2", TOTAL, BUFFER),
        (f"4: {CHECKED} senders, arrays and machines", f"star {CHECKED}", "star machines", STAR,
         STAR_BUFFER),
    ):  # fmt: skip
        paper, improved = ((f"{arrays} {law}", f"{machines} {law}") for law in experiments.LAWS)
        yield Row(run, "difference of all senders", "%", bar=at_most(1), paper_law=paper,
                  improved_law=improved, measure=total, scale=100 * MBIT / 2, combine=_apart,
                  note="the same seeds as arrays and with the broker machines")  # fmt: skip
        yield Row(run, "difference of highest buffer", "packets", bar=at_most(15),
                  paper_law=paper, improved_law=improved, measure=buffer, scale=PACKET,
                  combine=_apart, note="a tenth of the bar of 150")  # fmt: skip


def _constants() -> Iterator[Row]:
    for run, scenario, constant in (
        ("2: fair share, all at once", "2", "lottery"), ("4: 20 senders", "star", "lottery"),
        ("3: chain of five", "3", "shortest_period"), ("4: 5 senders", "star", "shortest_period"),
    ):  # fmt: skip
        for constant_ms in experiments.CONSTANTS_MS[constant]:
            label = f"{run}, {constant.replace('_', ' ')} of {constant_ms} ms"
            key = f"{scenario}, {constant} of {constant_ms} ms"
            if scenario == "3":
                yield Row(label, "all senders", "Mbit/s", paper_law=key, measure=CHAIN,
                          scale=MBIT, note="as arrays")  # fmt: skip
            else:
                yield Row(label, "highest buffer", "packets", paper_law=key, scale=PACKET,
                          measure=BUFFER if scenario == "2" else STAR_BUFFER,
                          note="as arrays")  # fmt: skip


# -- as processes on this machine ------------------------------------------------------------------

WITHIN_4_PERCENT: Final = within(96, 101)
"""Share of the link's nominal limit, as the paper reports for Emulab; more than all of it would be
an error of measurement."""

OF_THE_CHAIN: Final = within(96, 102)
"""The same for senders that are alone on a link or two."""

LIVE_SHARES: Final = (
    ("1: two bottlenecks", "1", "acfg", 2.0, "S_acfg of the link", "96 (1.9 of 1.91 … 2)"),
    ("1: two bottlenecks", "1", "cdg", 1.0, "S_cdg of the link", "96 (0.904 of 0.94)"),
    ("2: fair share", "2", "", 2.0, "both of the link", "about 96"),
    ("chain of five", "cairn", "a", 1.5, "S1 of the link", "86 … 99"),
    ("chain of five", "cairn", "b", 1.3, "S2 and S3 of the link", "86 … 99"),
)
"""Run, scenario, class or group, capacity of its link in Mbit/s, title, value in the paper."""


def _live() -> Iterator[Row]:
    for run, scenario, subject, mbit_per_s, metric, paper in LIVE_SHARES:
        is_chain = scenario == "cairn"
        yield Row(f"{run} (live)", metric, "%", paper,
                  OF_THE_CHAIN if is_chain else WITHIN_4_PERCENT,
                  stretch=within(99, 102) if is_chain else None, laws=f"{scenario} live",
                  measure=sent(LIVE_WARM_UP_S, LIVE_WARM_UP_S + LIVE_S[scenario], subject),
                  scale=100 * MBIT / mbit_per_s)  # fmt: skip
    unfairness = partial(measures.from_fair_share, low_s=LIVE_WARM_UP_S)
    yield Row("2: fair share (live)", "each class from its fair share", "%", "fairly shared",
              at_most(5), laws="2 live",
              measure=partial(unfairness, first="acfg", second="cdg"))  # fmt: skip
    yield Row("chain of five (live)", "S2 and S3 from their fair share", "%",
              "1.7 (0.618, 0.640)", at_most(5), stretch=at_most(1), laws="cairn live",
              measure=partial(unfairness, first="S2", second="S3"),
              note="one run; under the paper's law it varies between runs")  # fmt: skip


ROWS: Final = (
    *_scenario_1(), *_scenario_2(), *DELAYED, *SCENARIO_3, *_scenario_4(), *START_UP, *LOTTERY,
    *CONTROL, *FAR_AWAY, *BESIDE_TCP, *BY_RECEIVERS, *_arrays_against_machines(),
    *_constants(), *_live(),
)  # fmt: skip
