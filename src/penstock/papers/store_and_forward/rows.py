"""The rows of the alias queue table: the paper's results, the bars, and what is measured.

Bars and stretches are those of docs/papers/store-and-forward.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import SHOWN, Bar, at_least, at_most
from penstock.lab.scenario.model import Measurement
from penstock.papers.store_and_forward.experiments import LIVE, SHORTER
from penstock.papers.store_and_forward.experiments import SIMULATED as RUNS
from penstock.papers.store_and_forward.measures import throughput_msgs_per_s, total_reception_s
from penstock.papers.store_and_forward.saturation import LOST

TOTAL: Final = ("total reception time", "s")
LOAD: Final = ("highest load", "messages")
QUEUED: Final = Measurement(metric="queue_messages", subject="work", aggregate="max")

SHARED_MACHINE_S: Final = 1.0
"""A live run may take this much longer than the simulated one: its processes share the cores of one
machine, and their delays are not compressed."""


# -- Section V.B, simulated ------------------------------------------------------------------------

EQUAL: Final = "50/50, flow control"
UNEQUAL: Final = "70/30, flow control"
CHANGING: Final = "70/30 inverted, two alias queues"
QUICK: Final = "with a first period of 1 s"

SIMULATED: Final = (
    Row("50/50, round-robin", *TOTAL, "500.0", at_most(500.5), paper_law="50/50 round-robin",
        measure=total_reception_s),
    Row(EQUAL, *TOTAL, "500.5", at_most(500.5), stretch=at_most(500.3), paper_law="50/50 paper",
        improved_law="50/50 quick improved", measure=total_reception_s),
    Row("70/30, round-robin", *TOTAL, "time-out", at_least(800), paper_law="70/30 round-robin",
        measure=total_reception_s),
    Row("70/30, round-robin", *LOAD, "grows linearly", at_least(190_000),
        paper_law="70/30 round-robin", measure=QUEUED),
    Row(UNEQUAL, *TOTAL, "510", at_most(510), stretch=at_most(502.2), laws="70/30",
        measure=total_reception_s),
    Row(f"{UNEQUAL}, {QUICK}", *TOTAL, "–", at_most(510), stretch=at_most(500.6),
        improved_law="70/30 quick improved", measure=total_reception_s),
    Row(UNEQUAL, *LOAD, "about 6,200", at_most(7000), laws="70/30", measure=QUEUED),
    Row(CHANGING, *TOTAL, "506", at_most(506), stretch=at_most(502.7), laws="inverted",
        measure=total_reception_s),
    Row(f"70/30 inverted, {QUICK}", *TOTAL, "–", at_most(506), stretch=at_most(501.7),
        improved_law="inverted quick improved", measure=total_reception_s),
    Row(CHANGING, *LOAD, "stable", at_most(10_000), laws="inverted", measure=QUEUED),
)  # fmt: skip


def _elasticity() -> Iterator[Row]:
    label = "workers by load: five times the load for 90 s"
    for kind, name in (("1 to 8", "elastic"), ("1", "few"), ("8", "many")):
        is_elastic = name == "elastic"
        for metric, unit, bar in (
            ("highest backlog", "messages", at_most(2000)),
            ("worked off after", "s", at_most(30)),
            ("worker seconds", "s", at_most(1080)),
            ("workers at the end", "", at_most(1)),
        ):
            yield Row(f"{label}, {kind} workers", metric, unit,
                      bar=bar if is_elastic else SHOWN, improved_law=f"workers {name}",
                      measure=metric)  # fmt: skip


def _every_run(label: str, experiments: tuple[str, ...]) -> Row:
    """No rule of the service is broken in any of these runs."""
    paper, improved = (
        tuple(key for key in experiments if key.endswith("improved") == (law == "improved"))
        for law in ("paper", "improved")
    )
    return Row(label, "messages lost, twice, changed or out of order", "messages", "never",
               at_most(0), paper_law=paper, improved_law=improved, combine=_worst,
               measure=Measurement(metric="violations"))  # fmt: skip


def _worst(violations: Sequence[Sequence[float]]) -> list[float]:
    return [max(chain.from_iterable(violations))]


# -- Figure 4, live --------------------------------------------------------------------------------


def _rates(results: Results, rates: Mapping[str, Of], why: str) -> str:
    """The throughputs behind a ratio, for a note."""
    medians = {name: results.median(of.experiment, of.measure) for name, of in rates.items()}
    return "; ".join((*(f"{name}: {rate:,.0f}/s" for name, rate in medians.items()), why))


def _saturated() -> Iterator[Row]:
    papers = {"one server": "< 4 (2291 to 2211/s)", "two servers": "2.5 (2052 to 2001/s)"}
    why = "the destination is near, so messages pass through the alias queue"
    for where, pair in LOST.items():
        rates = {each.name: Of("saturated", each.name) for each in pair}
        yield Row(f"alias overhead, {where} (live)", "throughput lost", "%", papers[where],
                  at_most(4), stretch=at_most(2), improved_law="saturated", measure=where,
                  note=partial(_rates, rates=rates, why=why),
                  needs=tuple(rates.values()))  # fmt: skip


def _lost(rates: Sequence[Sequence[float]]) -> list[float]:
    """Per cent of the first experiment's throughput that the second loses."""
    return [100 * (1 - alias / direct) for direct, alias in zip(*rates, strict=True)]


FIVE, SIX, SEVEN = (
    Of(f"sleeping {each}", throughput_msgs_per_s) for each in ("direct", "alias", "two queues")
)
NAMES: Final = {
    "5 sleeping consumer": FIVE,
    "6 sleeping consumer, alias": SIX,
    "7 two sleeping consumers, alias": SEVEN,
}


def _named(*chosen: Of) -> dict[str, Of]:
    return {name: of for name, of in NAMES.items() if of in chosen}


SLEEPING: Final = (
    Row("alias overhead, consumer is the limit (live)", "throughput lost", "%",
        "1 (1944 to 1918/s)", at_most(4), stretch=at_most(2), improved_law=(FIVE, SIX),
        combine=_lost, measure=throughput_msgs_per_s,
        note=partial(_rates, rates=_named(FIVE, SIX), why="the paper's regime, at twice its rate")),
    Row("two consumer queues (live)", "throughput gained", "x", "1.92", at_least(1.8),
        paper_law=SEVEN, against=SIX, measure=throughput_msgs_per_s,
        note=partial(_rates, rates=_named(SIX, SEVEN), why="consumers that sleep")),
)  # fmt: skip


# -- Section V.B, live -----------------------------------------------------------------------------


def _bar(results: Results, simulated: Of) -> Bar:
    simulated_s = results.median(simulated.experiment, simulated.measure)
    return at_most(round(simulated_s + SHARED_MACHINE_S, 1))


def _note(results: Results, simulated: Sequence[Of]) -> str:
    needed = " / ".join(f"{results.median(of.experiment, of.measure):.1f}" for of in simulated)
    return (
        f"25 s is the least; the simulator needs {needed} s, bars are that and "
        f"{SHARED_MACHINE_S:g} s for processes that share two cores"
    )


def _live() -> Iterator[Row]:
    compressed = f"time compressed {SHORTER} times (live)"
    for name, label, reported in (
        ("50/50", "50/50", "500.5"),
        ("70/30", "70/30", "510"),
        ("inverted", "70/30 inverted", "506"),
    ):
        ours, improved = (
            Of(f"{name} in 1/20 {law}", total_reception_s) for law in ("paper", "quick improved")
        )
        yield Row(f"{label}, flow control, {compressed}", *TOTAL, f"{reported} / {SHORTER}",
                  partial(_bar, simulated=ours), stretch=partial(_bar, simulated=improved),
                  note=partial(_note, simulated=(ours, improved)), needs=(ours, improved),
                  paper_law=f"{name} live paper", improved_law=f"{name} live quick improved",
                  measure=total_reception_s)  # fmt: skip
    yield Row(f"70/30, round-robin, {compressed}", *TOTAL, "time-out", at_least(40),
              paper_law="70/30 live round-robin", measure=total_reception_s)  # fmt: skip


ROWS: Final = (
    *SIMULATED,
    _every_run("every run", tuple(RUNS)),
    *_elasticity(),
    *_saturated(),
    *SLEEPING,
    *_live(),
    _every_run("every run (live)", tuple(LIVE)),
)
