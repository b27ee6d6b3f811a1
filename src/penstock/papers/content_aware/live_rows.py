"""Figures 7 to 10 with real processes: the same quantities, with the same bars.

Absolute figures depend on the machine; runs are compared with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import at_least, at_most
from penstock.papers.content_aware import measures
from penstock.papers.content_aware import quantities as quantity
from penstock.papers.content_aware.experiments import SHORTENED
from penstock.papers.content_aware.rows import CAPACITY_NAME, FAIRNESS_NAME, LOAD_NAME

SETTLED_S: Final = 13.0
"""Fair shares are measured this long after a change, for the remaining 20 s."""


def _name(name: str, key: str) -> str:
    return f"{name}, time compressed {SHORTENED[key]:g} times (live)"


def _by_first(values: Sequence[Sequence[float]], *, inverse: bool = False) -> list[float]:
    """The values of the second source by the value of the first one, which ran once."""
    (free,), held = values
    return [free / each if inverse else each / free for each in held]


LOAD, CAPACITY = _name(LOAD_NAME, "load"), _name(CAPACITY_NAME, "capacity")


def _fairness(kbps: int, start_s: float) -> Row:
    low_s = start_s / SHORTENED["fairness"] + SETTLED_S
    high_s = (start_s + 100.0) / SHORTENED["fairness"]
    worst = partial(measures.unfairness, from_s=low_s, to_s=high_s)
    rates = measures.pair_rates(low_s, high_s)
    laws, free = ("live fairness paper", "live fairness improved"), "live fairness none"

    def note(results: Results) -> str:
        without = results.values(free, worst)[0]
        shown = quantity.rates_of_both(results, "live fairness", rates)
        return f"{shown} in the first runs, {without:.0f} % without control"

    return quantity.UNFAIRNESS(
        f"{_name(FAIRNESS_NAME, 'fairness')}, {kbps} Kbps", paper="max-min", **quantity.FAIR,
        laws="live fairness", measure=worst, note=note,
        needs=(*(Of(law, rate) for law in laws for rate in rates), Of(free, worst)),
    )  # fmt: skip


TCP_RATE: Final = measures.tcp_rate(25.0, 70.0)
"""As in the simulator, from 20 s after the connection's start."""


def _shares(results: Results) -> str:
    paper, improved, free = (
        quantity.shares_of(results, f"live TCP {policy}", TCP_RATE)
        for policy in ("paper", "improved", "none")
    )
    return f"{paper} and {improved} in 45 s of each run; {free} without control"


LIVE_ROWS: Final = (
    quantity.FEWER_LOSSES(
        LOAD, combine=partial(_by_first, inverse=True), **quantity.against_none("live load"),
        **quantity.lost_without_control("live load"),
    ),
    quantity.MESSAGES_LOST(LOAD, laws="live load", stretch=at_most(50)),
    quantity.DELIVERED(LOAD, combine=_by_first, **quantity.against_none("live load")),
    quantity.ADAPTATION(CAPACITY, laws="live capacity"),
    quantity.UTILISATION(
        CAPACITY, bar=at_least(0.93), laws="live capacity", measure=measures.delivered_part,
        note="deliveries against what the link could carry; the capacity changes every 8 s",
    ),
    quantity.MESSAGES_LOST(
        CAPACITY, paper="barely noticeable", laws="live capacity", stretch=at_most(49),
        **quantity.lost_without_control("live capacity"),
    ),
    _fairness(1000, 100.0),
    _fairness(500, 200.0),
    quantity.TCP_SHARE(
        "TCP friendliness, kernel TCP over tc tbf (live)", paper=quantity.FIGURE_10,
        **quantity.FRIENDLY, laws="live TCP", measure=TCP_RATE, note=_shares,
        needs=(Of("live TCP none", TCP_RATE),),
    ),
)  # fmt: skip
