"""The table of the adaptive gossip paper, figure by figure, under both laws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.results import Of, Results, Sources
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import SHOWN, Bar, at_least, at_most, within
from penstock.papers.adaptive_gossip import experiments as runs
from penstock.papers.adaptive_gossip import measures
from penstock.papers.adaptive_gossip.measures import ADAPTIVE, LIVE, PLAIN, SCALE, SQUEEZED

STABLE: Final[Measure] = partial(measures.rounds_until_stable, from_s=500, to_s=1000)
KEPT: Final[Measure] = partial(measures.rounds_kept, period_s=runs.LIVE_PERIOD_S)
AGES: Final = measures.critical_ages
RELIABLE: Final = at_least(0.95)

FIXED_MARKS: Final = (
    "marks 5 and 7 are those of 60 peers; 10 msg/s are offered, a quarter above the ideal, and "
    "with more the share would fall further"
)
LESS_ATOMIC: Final = "the improved law aims at receivers and takes the rate: it is less atomic"
SMOOTHED: Final = "allowed rate, 5-round averages, within 5 % of the phase's last two thirds"


def _unadapted(results: Results) -> str:
    return (
        "the 20 msg/s offered are about what the mean of the buffers carries: plain lpbcast "
        f"reaches {results.median('dynamic none', SQUEEZED.receivers):.3f} receivers with them"
    )


def _live_note(results: Results) -> str:
    paper, improved = (results.median(f"live {law}", KEPT) for law in ("paper", "improved"))
    plain = results.median("live none", LIVE.receivers)
    return f"plain lpbcast: {plain:.3f}; peers ran {paper:.0%} and {improved:.0%} of their rounds"


def _storm_note(results: Results) -> str:
    return f"peers ran {results.median('live storm', KEPT):.0%} of their rounds"


def _row(
    run: str, metric: str, unit: str, paper: str, bar: Bar, what: Measure, of: Sources, **more: Any
) -> Row:
    """A row of one experiment, without the improved law."""
    return Row(run, metric, unit, paper, bar, measure=what, paper_law=of, **more)


def _both(
    run: str, metric: str, unit: str, paper: str, bar: Bar, what: Measure, of: str, **more: Any
) -> Row:
    """A row of the experiments that have this name and the name of a law."""
    more["improved_law"] = f"{of} improved"
    return _row(run, metric, unit, paper, bar, what, f"{of} paper", **more)


def _degradation() -> Iterator[Row]:
    run = "Figure 2: reliability falls with the rate"
    for rate, hops in ((10, 8.5), (30, 3.7), (60, 2.7)):
        key, near = runs.plain_key(60, rate), within(round(0.9 * hops, 2), round(1.1 * hops, 2))
        age = f"age of drops at {rate} msg/s, 60 buffers"
        yield _row(run, age, "hops", f"{hops}", near, PLAIN.drop_age, key)
        receivers = f"receivers at {rate} msg/s"
        yield _row(run, receivers, "share", "falls", SHOWN, PLAIN.receivers, key)


def _ideal() -> Iterator[Row]:
    run = "Figure 4: ideal rate by buffer size"
    for buffer in runs.IDEAL_BUFFERS:
        sources = PLAIN.ideal_of(runs.ideal_keys(buffer))
        linear, near = within(0.25, 0.29), within(5.1, 5.5)
        per_buffer: dict[str, Any] = {"combine": measures.ideal_rates, "scale": 1 / buffer}
        rate, age = f"ideal rate / buffers at {buffer}", f"critical age at {buffer}"
        yield _row(run, rate, "msg/s", "linear", linear, PLAIN.rate, sources, **per_buffer)
        yield _row(run, age, "hops", "5.3", near, PLAIN.rate, sources, combine=AGES)


def _adaptive() -> Iterator[Row]:
    for buffer in runs.ADAPTIVE_BUFFERS:
        yield Row(
            "Figure 6: adaptive against ideal rate",
            f"rate / ideal at {buffer} buffers",
            "",
            "close to 1",
            at_least(0.80),
            measure=ADAPTIVE.rate,
            stretch=at_least(0.95),
            paper_law=measures.part_of_ideal("paper", buffer),
            improved_law=measures.part_of_ideal("improved", buffer),
            combine=measures.parts_of_ideal,
        )
        run, metric = "Figure 8: reliability under adaptation", f"receivers at {buffer} buffers"
        key, share = f"adaptive {buffer}", ADAPTIVE.receivers
        yield _both(run, metric, "share", "95 %", RELIABLE, share, key, stretch=RELIABLE)


def _collapse() -> Iterator[Row]:
    run = "Figures 7, 8: without adaptation at 30 msg/s"
    for buffer, bar in ((30, at_most(0.65)), (60, at_most(0.85)), (120, RELIABLE)):
        metric, key = f"receivers at {buffer} buffers", runs.plain_key(buffer, runs.OFFERED)
        yield _row(run, metric, "share", "collapses below 120", bar, PLAIN.receivers, key)
    metric, bar, key = "atomic at 60 buffers", at_most(0.05), runs.plain_key(60, runs.OFFERED)
    yield _row(run, metric, "share", "drops sharply", bar, PLAIN.atomic, key)


def _dynamic() -> Iterator[Row]:
    run, key, share = "Figure 9: a third of the buffers 90 → 45 → 60", "dynamic", SQUEEZED.receivers
    metric, soon = "rounds until the allowed rate is stable after 90 → 45", at_most(12)
    best: dict[str, Any] = {"stretch": soon, "note": SMOOTHED}
    yield _both(run, metric, "rounds", "12 (60 s)", at_most(15), STABLE, key, **best)
    metric, paper, bar = "atomic at 45 buffers, adaptive", "0.92 (0.87 simulated)", at_least(0.87)
    yield _both(run, metric, "share", paper, bar, SQUEEZED.atomic, key, note=LESS_ATOMIC)
    metric, bar = "atomic at 45 buffers, plain", at_most(0.80)
    yield _row(run, metric, "share", "falls", bar, SQUEEZED.atomic, "dynamic none")
    metric, bar = "input rate at 45 buffers", at_least(12.0)
    best = {"stretch": at_least(18.5), "note": _unadapted, "needs": (Of("dynamic none", share),)}
    yield _both(run, metric, "msg/s", "close to ideal", bar, SQUEEZED.rate, key, **best)
    metric = "receivers at 45 buffers"
    yield _both(run, metric, "share", "–", RELIABLE, share, key, stretch=RELIABLE)


def _one_poor() -> Iterator[Row]:
    run, rate = "Section 6: one peer with 10 buffers among 90", measures.ONE_POOR.rate
    metric = "input rate, adapting to the {} buffer"
    smallest, second = metric.format("smallest"), metric.format("second smallest")
    yield _row(run, smallest, "msg/s", "held back", SHOWN, rate, "one poor 1")
    yield _row(run, second, "msg/s", "not held back", at_least(18.0), rate, "one poor 2")


def _scale() -> Iterator[Row]:
    run = "Scale: the critical age grows with the group"
    for peers, hops in zip(runs.SCALE_SIZES, (5.3, 7.8, 9.6), strict=True):
        sources = PLAIN.ideal_of(runs.scale_ideal_keys(peers))
        metric = f"critical age of {peers:,} peers"
        bar = within(round(hops - 0.5, 1), round(hops + 0.5, 1))
        yield _row(run, metric, "hops", "5.3 at 60", bar, PLAIN.rate, sources, combine=AGES)
    fixed, share = "Scale: one setting for every size", SCALE.receivers
    by_size = "Scale: the paper's law with marks from the size estimate"
    for peers in runs.SCALE_SIZES:
        metric, of = f"receivers, {peers:,} peers", f"scale {peers}"
        best: dict[str, Any] = {"stretch": RELIABLE, "note": "" if peers == 60 else FIXED_MARKS}
        yield _both(fixed, metric, "share", "60 peers only", RELIABLE, share, of, **best)
        yield _row(by_size, metric, "share", "–", RELIABLE, share, f"{of} by size")


def _live() -> Iterator[Row]:
    run, share = "Live: 60 peers over UDP, T = 100 ms, buffers 30 → 15 → 20", LIVE.receivers
    kept = (Of("live none", share), Of("live paper", KEPT), Of("live improved", KEPT))
    best: dict[str, Any] = {"stretch": RELIABLE, "note": _live_note, "needs": kept}
    yield _both(run, "receivers", "share", "0.92 atomic", RELIABLE, share, "live", **best)
    per_round: dict[str, Any] = {"scale": runs.LIVE_PERIOD_S, "note": "33.3 are offered"}
    metric = "input rate for each round"
    yield _both(run, metric, "msg", "–", at_least(20.0), LIVE.rate, "live", **per_round)
    storm: dict[str, Any] = {"note": _storm_note, "needs": (Of("live storm", KEPT),)}
    run = "Live: 20 % datagram loss, 10 % of the peers replaced"
    yield Row(
        run, "receivers", "share", "–", RELIABLE, measure=share, improved_law="live storm", **storm
    )


PARTS: Final = (_degradation, _ideal, _adaptive, _collapse, _dynamic, _one_poor, _scale, _live)
ROWS: Final = tuple(row for part in PARTS for row in part())
