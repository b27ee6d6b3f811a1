"""The figures of the content-aware paper: no control, the paper's law, the improved one."""

from __future__ import annotations

from typing import Final, Literal

from penstock.lab.experiments.figure import (
    IMPROVED,
    PLAIN,
    Figure,
    Level,
    Line,
    Panel,
    Points,
    Series,
)
from penstock.lab.experiments.results import Of
from penstock.lab.scenario.model import Measurement
from penstock.papers.content_aware.records import DURATION_S, IDEAL, RECORD_SIZES, name_of
from penstock.papers.content_aware.rows import BEHIND, PUBLISHER

POLICIES: Final = {
    "none": "no control",
    "paper": "paper's law, flow numbers",
    "improved": "improved law",
}
"""Side by side in every figure."""

MISSED: Final = "#d1495b"
PAIRS: Final = {1: ("400 msg/s wanted", "#1f6fb4"), 2: ("150 msg/s wanted", "#e08e0b"),
                3: ("150 msg/s wanted", "#2e8b57")}  # fmt: skip
KBPS: Final = 8 / 1000
MESSAGE_BYTES: Final = 280
SENT: Final = Measurement(metric="sent")


def _metric(metric: str, subject: str = "", node: str = "") -> Measurement:
    return Measurement(metric=metric, subject=subject, node=node)


def _row(name: str, unit: str, *lines: Line, levels: tuple[Level, ...] = ()) -> tuple[Panel, ...]:
    """The same panel for every policy."""
    return tuple(
        Panel(f"{name} {policy}", title, unit, lines, levels=levels)
        for policy, title in POLICIES.items()
    )


def _estimates(size: int, name: str) -> tuple[Points, Points]:
    """What one receiver estimates; before the first loss TCP's rate has no limit to show."""

    def series(what: Literal["loss", "rate"], colour: str) -> Series:
        seconds, source = range(1, DURATION_S), "record estimates, one seed"
        points = ((float(each), Of(source, name_of(what, size, each))) for each in seconds)
        return Series("", "", tuple(points), colour)

    title, x_label = f"records of {name}", "seconds"
    return (
        Points(title, x_label, "loss event rate", (series("loss", MISSED),), high=0.035),
        Points(title, x_label, "TCP's rate (msg/s)", (series("rate", IMPROVED),), high=150),
    )


FIGURE_5: Final = Figure(
    "datagram-figure-5",
    "Figure 5: what records of k messages let a receiver estimate",
    tuple(
        _estimates(size, "unlimited length" if size == IDEAL else f"{size} messages")
        for size in RECORD_SIZES
    ),
)


def _rates(number: int, name: str, title: str) -> Figure:
    return Figure(
        f"datagram-figure-{number}",
        f"Figure {number}: {title}",
        (
            _row(name, "bottleneck (Kbps)",
                 Line("", _metric("sent_bytes", "near->far"), scale=KBPS, colour=IMPROVED)),
            _row(name, "messages/s",
                 Line("published", SENT, colour=PLAIN),
                 Line("received", _metric("delivered"), colour=IMPROVED),
                 Line("missed", _metric("lost"), colour=MISSED)),
        ),
    )  # fmt: skip


FIGURE_9: Final = Figure(
    "datagram-figure-9",
    "Figure 9: three pairs; the dotted lines are fair shares",
    (
        _row("fairness", "received messages/s",
             *(Line(label, _metric("delivered", f"subscriber-{pair}"), colour=colour)
               for pair, (label, colour) in PAIRS.items()),
             levels=(Level(125_000 / MESSAGE_BYTES / 3, from_x=100, to_x=200),
                     Level(62_500 / MESSAGE_BYTES / 3, from_x=200, to_x=300))),
    ),
)  # fmt: skip

FIGURE_10: Final = Figure(
    "datagram-figure-10",
    "Figure 10: beside a TCP flow, 1 Mbps",
    (
        _row("TCP", "Kbps",
             Line("publish/subscribe", _metric("delivered"), scale=KBPS * MESSAGE_BYTES,
                  colour=IMPROVED),
             Line("TCP", _metric("tcp_delivered_bytes"), scale=KBPS, colour=MISSED),
             levels=(Level(500),)),
    ),
)  # fmt: skip

FIGURES_11_12: Final = Figure(
    "datagram-figure-11-12",
    "Figures 11 and 12: 8 brokers, 760 clients",
    (
        _row("large", "messages/s",
             Line("published", SENT, colour=PLAIN),
             Line("delivered", _metric("delivered", BEHIND), colour=IMPROVED),
             Line("missed", _metric("lost", BEHIND), colour=MISSED)),
        _row("large", "reports/s to a publisher",
             Line("", _metric("feedback_messages", node=PUBLISHER), colour=IMPROVED)),
        _row("large", "flows in its table",
             Line("", _metric("flows", node=PUBLISHER), "max", colour=IMPROVED)),
    ),
)  # fmt: skip

FIGURES: Final = (
    FIGURE_5,
    _rates(7, "load", "variable load, 500 Kbps"),
    _rates(8, "capacity", "1 and 2 Mbps in turns"),
    FIGURE_9,
    FIGURE_10,
    FIGURES_11_12,
)
