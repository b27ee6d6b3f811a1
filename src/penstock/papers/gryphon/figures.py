"""The figures of the Gryphon paper, from our runs: both laws in one picture."""

from __future__ import annotations

from typing import Any, Final

from penstock.lab.experiments.figure import (
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
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import How
from penstock.papers.gryphon.experiments import THRESHOLDS
from penstock.papers.gryphon.measures import PUBLISHED
from penstock.papers.gryphon.rows import E4_RECOVERY

ALERTS: Final = Measurement(metric="alert_nonrecovering")
RECOVERING: Final = Measurement(metric="alert_recovering")
NACK_WINDOW: Final = Measurement(metric="nack_window_s", node="sb2")
SB5: Final = Measurement(metric="doubt_horizon_rate", node="sb5")


def _figure(name: str, title: str, *panels: Panel | Points) -> Figure:
    """Panels below each other."""
    return Figure(f"gryphon-{name}", title, tuple((each,) for each in panels))


def _both(
    run: str, title: str, unit: str, what: Measurement, how: How = "rate", **options: Any
) -> Panel:
    scale = 1e-3 if unit == "kB" else 1.0
    return Panel(f"{run} paper", title, unit, both_laws(run, what, how, scale=scale), **options)


def _queue(run: str, link: str) -> Panel:
    queued = Measurement(metric="queue_bytes", subject=link)
    return _both(run, f"queue {link}", "kB", queued, "max")


def _delivered(subscriber: str) -> Measurement:
    return Measurement(metric="delivered", subject=subscriber)


def _collapse(run: str, title: str) -> Panel:
    edges = zip(("s1", "s2"), ("#3a7d44", "#8a4f7d"), strict=True)
    lines = (Line(each.replace("s", "SB"), _delivered(each), colour=of) for each, of in edges)
    return Panel(run, title, "msg/s", tuple(lines))


CAPACITIES: Final = tuple(
    Level(capacity, from_x=start_s, to_x=start_s + 120)
    for start_s, capacity in ((30, 167), (150, 417), (270, 167))
)
"""What the limits of E2 carry, in messages a second."""

RECOVERIES: Final = tuple(
    Series(label, E4_RECOVERY, tuple((each, f"E4 {each:g} {law}") for each in THRESHOLDS), colour)
    for law, (label, colour) in LAWS.items()
)

FIGURES: Final = (
    _figure("e1", "E1: a link failure of 120 s (paper's Fig. 7)",
        _both("E1", "publication", "msg/s", PUBLISHED),
        _both("E1", "SB2", "msg/s", _delivered("s2")),
        _queue("E1", "pb->ib"),
    ),
    _figure("e1-nack-window", "E1 with PB-IB at 500 KB/s (paper's Fig. 8)",
        Panel("E1 window", "NACK window of SB2 during its recovery", "tick ms",
              (Line("paper's law", NACK_WINDOW, "mean", scale=1000, colour=PAPER),),
              from_s=145, to_s=202),
    ),
    _figure("e2", "E2: a limit that changes (paper's Figs. 9 to 11)",
        _both("E2", "publication", "msg/s", PUBLISHED, levels=CAPACITIES),
        _queue("E2", "ib->sb1"),
        Panel("E2 paper", "alerts", "tick s/s", both_laws("E2", ALERTS, "value", style="dots"),
              high=1.1),
    ),
    _figure("e3", "E3: limits and a failure (paper's Figs. 13 to 15)",
        _both("E3", "publication", "msg/s", PUBLISHED),
        _both("E3", "doubt horizon of SB5; its threshold is dotted", "tick s/s", SB5, "mean",
              levels=(Level(1.5),), high=8),
        Panel("E3 paper", "alerts", "tick s/s", (
            *both_laws("E3", ALERTS, "value", style="dots", suffix=", live"),
            *both_laws("E3", RECOVERING, "value", style="crosses", suffix=", recovering"),
        ), high=4),
    ),
    _figure("e4", "E4: recovery time against the threshold (paper's Fig. 16)",
        Points("recovery", "threshold Δt_rec, tick s/s", "s", RECOVERIES,
               levels=(Level(40.8, "nothing published at all"),)),
    ),
    _figure("collapses", "Without congestion control (paper's Section 2)",
        _collapse("collapse 1", "a thin link to SB1"),
        _collapse("collapse 2", "an outage of SB2's link"),
    ),
)  # fmt: skip
