"""The loads of the consumers' queues over time, under each policy (the paper's Figures 5, 6, 8)."""

from __future__ import annotations

from typing import Final

from penstock.lab.experiments.figure import Figure, Line, Panel
from penstock.lab.experiments.results import Of, Results
from penstock.lab.scenario.model import Measurement
from penstock.papers.store_and_forward.measures import total_reception_s

LABELS: Final = {
    "paper": "paper's law",
    "improved": "improved law",
    "quick improved": "improved law, 1 s first",
    "round-robin": "round-robin",
}

LOADS: Final = tuple(
    Line(site, Measurement(metric="queue_messages", subject="work", node=site), "value")
    for site in ("east", "west")
)


def _panel(key: str, policy: str) -> Panel:
    total = Of(key, total_reception_s)

    def title(results: Results) -> str:
        return f"{LABELS[policy]}: {results.median(key, total.measure):.1f} s"

    return Panel(key, title, "messages in the queue", LOADS, needs=(total,))


def _figure(file: str, title: str, name: str, *policies: str) -> Figure:
    panels = tuple(_panel(f"{name} {each}", each) for each in policies)
    return Figure(f"queues-{file}", title, (panels,))


FLOW_CONTROL: Final = ("paper", "improved", "quick improved")

FIGURES: Final = (
    _figure("balanced", "Equal consumers (50/50)", "50/50", "paper", "quick improved"),
    _figure("unbalanced", "Unequal consumers (70/30)", "70/30", *FLOW_CONTROL),
    _figure(
        "inverted",
        "Unequal consumers that change roles after 250 s, two alias queues",
        "inverted",
        *FLOW_CONTROL,
    ),
    _figure("round-robin", "Unequal consumers (70/30), round-robin", "70/30", "round-robin"),
)
