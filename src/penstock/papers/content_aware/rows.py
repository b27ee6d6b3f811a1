"""The table of the content-aware paper (Figures 1 and 5 to 12).

"Paper's law" is the paper's control with flow numbers beside the publication records; the results
of records alone are in rows of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import at_least, at_most, within
from penstock.lab.scenario.model import Measurement
from penstock.papers.content_aware import measures
from penstock.papers.content_aware import quantities as quantity
from penstock.papers.content_aware.records import ratio_name

LOAD_NAME: Final = "variable load, 500 Kbps"
CAPACITY_NAME: Final = "1 to 2 Mbps every 40 s"
FAIRNESS_NAME: Final = "fairness, 400/150/150"
LARGE_NAME: Final = "large: 8 brokers, 760 clients"

SETTLED_S: Final = 20.0
"""Rates are measured this long after a change."""

ESTIMATE: Final = partial(
    Row, metric="estimated rate / ideal receiver's", unit="x", paper_law="record estimates"
)
RECORDS: Final = (
    ESTIMATE("Figure 5, records of 5", paper="close to ideal", bar=within(0.8, 1.25),
             measure=ratio_name(5)),
    ESTIMATE("Figure 5, records of 2", paper="often larger", measure=ratio_name(2)),
)  # fmt: skip

LOAD: Final = (
    quantity.FEWER_LOSSES(
        LOAD_NAME, laws="load", against="load none", inverse=True,
        **quantity.lost_without_control("load"),
    ),
    quantity.MESSAGES_LOST(LOAD_NAME, laws="load", stretch=at_most(50)),
    quantity.DELIVERED(LOAD_NAME, laws="load", against="load none"),
    quantity.MESSAGES_LOST(f"{LOAD_NAME}, records alone", paper_law="load records"),
)  # fmt: skip

CAPACITY: Final = (
    quantity.ADAPTATION(CAPACITY_NAME, laws="capacity"),
    quantity.UTILISATION(
        CAPACITY_NAME, bar=at_least(0.93), laws="capacity", measure=measures.carried
    ),
    quantity.MESSAGES_LOST(
        CAPACITY_NAME, paper="barely noticeable", laws="capacity", stretch=at_most(49),
        **quantity.lost_without_control("capacity"),
    ),
)  # fmt: skip


def _fairness(capacity: str, from_s: float, to_s: float, paper: str) -> tuple[Row, ...]:
    run, rates = f"{FAIRNESS_NAME}, {capacity}", measures.pair_rates(from_s, to_s)
    worst = partial(measures.unfairness, from_s=from_s, to_s=to_s)
    used = partial(measures.carried, from_s=from_s, to_s=to_s)
    both, alone = ("fairness paper", "fairness improved"), "fairness records"

    def rates_of_both(results: Results) -> str:
        return f"{quantity.rates_of_both(results, 'fairness', rates)} with the first seed"

    return (
        quantity.UNFAIRNESS(
            run, paper=paper, **quantity.FAIR, laws="fairness", measure=worst, note=rates_of_both,
            needs=tuple(Of(each, rate) for each in both for rate in rates),
        ),
        quantity.UTILISATION(run, laws="fairness", measure=used),
        quantity.UNFAIRNESS(
            f"{run}, records alone", paper_law=alone, measure=worst,
            note=lambda results: f"{quantity.rates_of(results, alone, rates)} messages a second",
            needs=tuple(Of(alone, rate) for rate in rates),
        ),
    )  # fmt: skip


def _tcp(run: str, key: str, end_s: float, paper: str) -> tuple[Row, ...]:
    rate = measures.tcp_rate(30.0 + SETTLED_S, end_s)
    both = (f"{key} paper", f"{key} improved")

    def note(results: Results) -> str:
        shares = " and ".join(quantity.shares_of(results, each, rate) for each in both)
        return f"the mean is judged, because single runs scatter: {shares}"

    return (
        quantity.TCP_SHARE(
            run, paper=paper, **quantity.FRIENDLY, laws=key, mean=True, measure=rate, note=note,
            needs=tuple(Of(each, rate) for each in both),
        ),
        quantity.TCP_SHARE(
            f"{run}, no control", paper="< 10", paper_law=f"{key} none", measure=rate
        ),
        quantity.TCP_SHARE(f"{run}, records alone", paper_law=f"{key} records", measure=rate),
    )  # fmt: skip


def _moved(values: Sequence[Sequence[float]]) -> list[float]:
    """The difference between two experiments, in per cent."""
    return [100 * abs(after / before - 1) for before, after in zip(*values, strict=True)]


DISJOINT: Final = (
    Row("disjoint filters, one behind the bottleneck", "change of the other subscriber's rate",
        "%", "none (Figure 1)", at_most(1), stretch=at_most(1),
        measure=partial(measures.delivered, subject="near-subscriber"), combine=_moved,
        **quantity.against_none("disjoint")),
)  # fmt: skip

BEHIND, PUBLISHER = "behind", "publisher-1"
LARGE_FROM_S, LARGE_TO_S = 5.0, 32.0
"""In the paper losses disappear after three seconds; the first message is published after two."""

LOST_PART: Final = partial(measures.lost_part, subject=BEHIND, from_s=LARGE_FROM_S)


def _comparison(results: Results) -> str:
    lost = {
        policy: [100 * each for each in results.values(f"large {policy}", LOST_PART)]
        for policy in ("none", "records", "paper", "improved")
    }
    by_seed = (", ".join(f"{each:.1f}" for each in lost[law]) for law in ("paper", "improved"))
    return (
        f"{lost['none'][0]:.0f} % without control, {lost['records'][0]:.0f} % with records alone; "
        f"by seed {' and '.join(by_seed)}; at a round trip of 0.1 s the equation itself allows a "
        "flow of 40 messages a second a loss event rate of 4.5 %"
    )


LARGE: Final = (
    Row(LARGE_NAME, "deliveries lost after 3 s", "%", "nearly 0", at_most(5),
        stretch=at_most(1.5), laws="large", measure=LOST_PART, scale=100, note=_comparison,
        needs=(Of("large none", LOST_PART), Of("large records", LOST_PART))),
    Row(LARGE_NAME, "use of the bottleneck", "", "> 0.90", at_least(0.90), stretch=at_least(0.95),
        laws="large", measure=measures.carried),
    Row(LARGE_NAME, "delay / without control", "", "0.53 (54 of 102 ms)", at_most(0.85),
        stretch=at_most(0.5), laws="large", against="large none",
        measure=Measurement(metric="delay_s", subject=BEHIND, aggregate="mean"),
        note="a law that waits for losses keeps the queue full"),
    Row(LARGE_NAME, "deliveries / without control", "", "0.88, on a workload that is not given",
        laws="large", against="large none", measure=partial(measures.delivered, subject=BEHIND)),
    Row(LARGE_NAME, "reports to a publisher", "1/s", "stable (Figure 12a)", laws="large",
        measure=Measurement(metric="feedback_messages", node=PUBLISHER, from_s=LARGE_FROM_S,
                            to_s=LARGE_TO_S, aggregate="rate")),
    Row(LARGE_NAME, "flows in a publisher's table", "", "stable (Figure 12b)", laws="large",
        measure=Measurement(metric="flows", node=PUBLISHER, from_s=LARGE_FROM_S + 1,
                            to_s=LARGE_TO_S, aggregate="mean")),
)  # fmt: skip

ROWS: Final = (
    *RECORDS,
    *LOAD,
    *CAPACITY,
    *_fairness("1 Mbps", 100.0 + SETTLED_S, 200.0, "140/149/149"),
    *_fairness("500 Kbps", 200.0 + SETTLED_S, 300.0, "74 each"),
    *_tcp("TCP friendliness", "TCP", 200.0, quantity.FIGURE_10),
    *_tcp("TCP friendliness, thin flow", "thin TCP", 120.0, "–"),
    *DISJOINT,
    *LARGE,
)
