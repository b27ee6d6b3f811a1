"""The quantities of the content-aware paper's table, with the bars, for both worlds alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import at_least, at_most, within
from penstock.lab.scenario.model import Measurement
from penstock.papers.content_aware import measures

Keys: TypeAlias = dict[str, Any]
"""Some fields of a row."""

LOST: Final = Measurement(metric="lost")

FEWER_LOSSES: Final = partial(
    Row, metric="losses without control / with", unit="x", paper="20", bar=at_least(20),
    measure=measures.lost_at_least_one,
)  # fmt: skip
MESSAGES_LOST: Final = partial(Row, metric="messages lost", unit="", measure=LOST)
DELIVERED: Final = partial(
    Row, metric="deliveries / without control", unit="", paper="0.98 (45,000 of 46,000)",
    bar=at_least(0.97), stretch=at_least(0.97), measure=measures.delivered,
)  # fmt: skip
ADAPTATION: Final = partial(
    Row, metric="time to use a doubled capacity", unit="s", paper="< 2", bar=at_most(2),
    stretch=at_most(1), measure=measures.adaptation_s,
)  # fmt: skip
UTILISATION: Final = partial(Row, metric="utilisation", unit="", stretch=at_least(0.95))
UNFAIRNESS: Final = partial(Row, metric="worst flow's distance from max-min", unit="%")
FAIR: Final[Keys] = {"bar": at_most(15), "stretch": at_most(7)}
TCP_SHARE: Final = partial(
    Row, metric="TCP's part of the link", unit="%", scale=100 / measures.TCP_LINK_BYTES_PER_S
)
FRIENDLY: Final[Keys] = {"bar": within(40, 60), "stretch": within(45, 55)}
FIGURE_10: Final = "52.5 (5 % more than the flow)"


def against_none(name: str) -> Keys:
    """Both laws, each together with the runs without control; a function combines them."""
    return {f"{law}_law": (f"{name} none", f"{name} {law}") for law in ("paper", "improved")}


def lost_without_control(name: str) -> Keys:
    """A note about the losses of the first run without control."""
    free = f"{name} none"
    return {
        "note": lambda results: f"{results.values(free, LOST)[0]:,.0f} lost without control",
        "needs": (Of(free, LOST),),
    }


def rates_of(results: Results, experiment: str, rates: Sequence[Measurement]) -> str:
    """The rates of all pairs with the first seed, as in "149/146/148"."""
    return "/".join(f"{results.values(experiment, each)[0]:.0f}" for each in rates)


def rates_of_both(results: Results, name: str, rates: Sequence[Measurement]) -> str:
    """The same for both laws."""
    shown = (rates_of(results, f"{name} {law}", rates) for law in ("paper", "improved"))
    return f"{' and '.join(shown)} messages a second"


def shares_of(results: Results, experiment: str, rate: Measure) -> str:
    """TCP's part of the link in every run, in per cent."""
    rates = results.values(experiment, rate)
    return ", ".join(f"{100 * each / measures.TCP_LINK_BYTES_PER_S:.0f}" for each in rates)
