"""The figures of the Gryphon paper, from our runs: both laws in one picture."""

from __future__ import annotations

from typing import Final

from penstock.lab.scenario.model import Measurement
from penstock.papers.figure import (
    LAWS,
    PAPER,
    Figure,
    Level,
    Line,
    Panel,
    Points,
    Series,
    both_laws,
)
from penstock.papers.gryphon.experiments import THRESHOLDS
from penstock.papers.gryphon.measures import PUBLISHED
from penstock.papers.gryphon.rows import E4_RECOVERY

ALERTS: Final = Measurement(metric="alert_nonrecovering")
RECOVERING: Final = Measurement(metric="alert_recovering")


def _delivered(subscriber: str) -> Measurement:
    return Measurement(metric="delivered", subject=subscriber)


def _queue(experiment: str, link: str) -> tuple[Line, ...]:
    queued = Measurement(metric="queue_bytes", subject=link)
    return both_laws(experiment, queued, "max", scale=1e-3)


def _published(experiment: str, *levels: Level) -> Panel:
    lines = both_laws(experiment, PUBLISHED)
    return Panel(f"{experiment} paper", "publication", "msg/s", lines, levels=levels)


E1: Final = Figure(
    "gryphon-e1",
    "E1: a link failure of 120 s (paper's Fig. 7)",
    (
        (_published("E1"),),
        (Panel("E1 paper", "SB2", "msg/s", both_laws("E1", _delivered("s2"))),),
        (Panel("E1 paper", "queue PB-IB", "kB", _queue("E1", "pb->ib")),),
    ),
)

NACK_WINDOW: Final = Figure(
    "gryphon-e1-nack-window",
    "E1 with PB-IB at 500 KB/s (paper's Fig. 8)",
    (
        (
            Panel(
                "E1 window",
                "NACK window of SB2 during its recovery",
                "tick ms",
                (
                    Line(
                        "paper's law",
                        Measurement(metric="nack_window_s", node="sb2"),
                        "mean",
                        scale=1000,
                        colour=PAPER,
                    ),
                ),
                from_s=145,
                to_s=202,
            ),
        ),
    ),
)

CAPACITIES: Final = tuple(
    Level(capacity, from_x=start_s, to_x=start_s + 120)
    for start_s, capacity in ((30, 167), (150, 417), (270, 167))
)
"""What the limits of E2 carry, in messages a second."""

E2: Final = Figure(
    "gryphon-e2",
    "E2: a limit that changes (paper's Figs. 9 to 11)",
    (
        (_published("E2", *CAPACITIES),),
        (Panel("E2 paper", "queue IB-SB1", "kB", _queue("E2", "ib->sb1")),),
        (
            Panel(
                "E2 paper",
                "alerts",
                "tick s/s",
                both_laws("E2", ALERTS, "value", style="dots"),
                high=1.1,
            ),
        ),
    ),
)

E3: Final = Figure(
    "gryphon-e3",
    "E3: limits and a failure (paper's Figs. 13 to 15)",
    (
        (_published("E3"),),
        (
            Panel(
                "E3 paper",
                "doubt horizon of SB5; its threshold is dotted",
                "tick s/s",
                both_laws("E3", Measurement(metric="doubt_horizon_rate", node="sb5"), "mean"),
                levels=(Level(1.5),),
                high=8,
            ),
        ),
        (
            Panel(
                "E3 paper",
                "alerts",
                "tick s/s",
                (
                    *both_laws("E3", ALERTS, "value", style="dots", suffix=", live"),
                    *both_laws("E3", RECOVERING, "value", style="crosses", suffix=", recovering"),
                ),
                high=4,
            ),
        ),
    ),
)

E4: Final = Figure(
    "gryphon-e4",
    "E4: recovery time against the threshold (paper's Fig. 16)",
    (
        (
            Points(
                "recovery",
                "threshold Δt_rec, tick s/s",
                "s",
                tuple(
                    Series(
                        label,
                        E4_RECOVERY,
                        tuple((each, f"E4 {each:g} {law}") for each in THRESHOLDS),
                        colour,
                    )
                    for law, (label, colour) in LAWS.items()
                ),
                levels=(Level(40.8, "nothing published at all"),),
            ),
        ),
    ),
)

COLLAPSES: Final = Figure(
    "gryphon-collapses",
    "Without congestion control (paper's Section 2)",
    tuple(
        (
            Panel(
                experiment,
                title,
                "msg/s",
                (
                    Line("SB1", _delivered("s1"), colour="#3a7d44"),
                    Line("SB2", _delivered("s2"), colour="#8a4f7d"),
                ),
            ),
        )
        for experiment, title in (
            ("collapse 1", "a thin link to SB1"),
            ("collapse 2", "an outage of SB2's link"),
        )
    ),
)

FIGURES: Final = (E1, NACK_WINDOW, E2, E3, E4, COLLAPSES)
