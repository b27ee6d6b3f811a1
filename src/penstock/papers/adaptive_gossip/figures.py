"""The figures of the adaptive gossip paper, from our runs: both laws in each picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from penstock.lab.experiments.figure import (
    LAWS,
    REFERENCE,
    Figure,
    Level,
    Line,
    Panel,
    Points,
    Series,
)
from penstock.lab.experiments.figure import PLAIN as NO_LAW
from penstock.lab.experiments.results import Of, Sources
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import How
from penstock.papers.adaptive_gossip import experiments as runs
from penstock.papers.adaptive_gossip import measures
from penstock.papers.adaptive_gossip.measures import ADAPTIVE, PLAIN, SCALE, Window

LOOKS: Final = {"none": ("plain lpbcast", NO_LAW), **LAWS}
"""Label and colour of every law."""
TARGET: Final = (Level(95, "target: 95 %"),)
RATE, BUFFER = "input rate (msg/s)", "buffer size (events)"
SMOOTHED_S: Final = 25.0
SETTLED_S: Final = 1425.0
"""Events of the last 15 rounds have not had time to spread."""

CRITICAL_AGES: Final = measures.critical_ages
Places = tuple[tuple[float, Sources], ...]


def _places(values: Iterable[int], source: Callable[[int], Sources]) -> Places:
    return tuple((float(each), source(each)) for each in values)


def _by_law(field: str, *more: str, **options: Any) -> tuple[Series, ...]:
    """One series over the buffers for each law, of one measure or of several combined."""

    def series(law: str, window: Window) -> Series:
        def sources(buffer: int) -> Sources:
            adaptive, plain = f"adaptive {buffer} {law}", runs.plain_key(buffer, runs.OFFERED)
            key = plain if law == "none" else adaptive
            return tuple(Of(key, getattr(window, each)) for each in (field, *more)) if more else key

        (label, colour), places = LOOKS[law], _places(runs.ADAPTIVE_BUFFERS, sources)
        return Series(label, getattr(window, field), places, colour, **options)

    return tuple(series(law, PLAIN if law == "none" else ADAPTIVE) for law in LOOKS)


AT_RATES: Final = _places(runs.DEGRADATION_RATES, lambda rate: runs.plain_key(60, rate))
PAPER_AGES: Final = ((10.0, 8.5), (30.0, 3.7), (60.0, 2.7))
DEGRADED: Final = (Series("measured", PLAIN.receivers, AT_RATES, NO_LAW, scale=100),)
AGES: Final = (
    Series("measured", PLAIN.drop_age, AT_RATES, NO_LAW),
    Series("paper", PLAIN.drop_age, PAPER_AGES, REFERENCE, "crosses"),
)
DEGRADATION: Final = (
    Points("receivers", RATE, "%", DEGRADED, levels=TARGET, high=102),
    Points("age of drops", RATE, "hops", AGES),
)

IDEALS: Final = _places(runs.IDEAL_BUFFERS, lambda buffer: PLAIN.ideal_of(runs.ideal_keys(buffer)))
IDEAL: Final = Series(
    "ideal (95 % receivers)", PLAIN.rate, IDEALS, REFERENCE, combine=measures.ideal_rates
)
CRITICAL: Final = (Series("measured", PLAIN.rate, IDEALS, REFERENCE, combine=CRITICAL_AGES),)
OFFERED_LEVEL, PAPER_AGE = (Level(runs.OFFERED, "offered"),), (Level(5.3, "paper: 5.3"),)
RATES: Final = (
    Points("input rate", BUFFER, "msg/s", (IDEAL, *_by_law("rate")[1:]), levels=OFFERED_LEVEL),
    Points("critical age", BUFFER, "hops", CRITICAL, levels=PAPER_AGE, low=4, high=6.5),
)

OUTPUT: Final = _by_law("rate", "receivers", combine=measures.outputs)
RECEIVERS, ATOMIC = _by_law("receivers", scale=100), _by_law("atomic", scale=100)
RELIABILITY: Final = (
    (
        Points("output rate", BUFFER, "msg/s", OUTPUT),
        Points("age of drops", BUFFER, "hops", _by_law("drop_age")),
    ),
    (
        Points("receivers", BUFFER, "%", RECEIVERS, levels=TARGET, high=103),
        Points("atomic deliveries", BUFFER, "%", ATOMIC, high=103),
    ),
)


def _over_time(metric: str, how: How, scale: float = 1.0) -> tuple[Line, ...]:
    what = Measurement(metric=metric, to_s=SETTLED_S)
    return tuple(
        Line(label, what, how, SMOOTHED_S, scale, colour, f"dynamic {law}")
        for law, (label, colour) in LOOKS.items()
    )


INPUT, REACHED = _over_time("published", "rate"), _over_time("receivers", "mean", 100)
DYNAMIC: Final = (
    (Panel("dynamic paper", "input rate", "msg/s", INPUT, high=24),),
    (Panel("dynamic paper", "receivers", "%", REACHED, levels=TARGET, low=85, high=100.5),),
)


def _of_size(law: str, look: str, marks: str = "", **options: Any) -> Series:
    label, colour = LOOKS[look]
    places = _places(runs.SCALE_SIZES, lambda peers: f"scale {peers} {law}")
    return Series(label + marks, SCALE.receivers, places, colour, scale=100, **options)


SIZES: Final = _places(runs.SCALE_SIZES, lambda peers: PLAIN.ideal_of(runs.scale_ideal_keys(peers)))
HOPS: Final = (Series("measured", PLAIN.rate, SIZES, REFERENCE, combine=CRITICAL_AGES),)
MARKS: Final = (Level(5, "the paper's marks"), Level(7))
OF_SIZE: Final = (
    _of_size("paper", "paper", ", marks 5 and 7"),
    _of_size("by size", "paper", ", marks by size", style="dashed"),
    _of_size("improved", "improved"),
)
SCALE_PANELS: Final = (
    Points("critical age", "peers", "hops", HOPS, log_x=True, levels=MARKS, low=4, high=11),
    Points("receivers", "peers", "%", OF_SIZE, log_x=True, levels=TARGET, low=75, high=100),
)

OFFERED: Final = "30 msg/s offered, with and without adaptation"
BUFFERS: Final = "a third of the buffers 90 → 45 → 60, 20 msg/s offered"
FIGURES: Final = (
    Figure("gossip-figure-2", "Figure 2: reliability falls with the rate", (DEGRADATION,)),
    Figure("gossip-figure-4-6", "Figures 4 and 6: ideal, offered and allowed rates", (RATES,)),
    Figure("gossip-figure-7-8", f"Figures 7 and 8: {OFFERED}", RELIABILITY),
    Figure("gossip-figure-9", f"Figure 9: {BUFFERS}", DYNAMIC),
    Figure("gossip-scale", "Scale: the critical age grows with the group", (SCALE_PANELS,)),
)
