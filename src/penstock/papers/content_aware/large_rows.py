"""The rows of the large experiment (Figures 11 and 12)."""

from __future__ import annotations

from statistics import mean

from penstock.papers.content_aware.large import load_large
from penstock.papers.content_aware.runs import LargeRuns
from penstock.papers.content_aware.scenario import FLOWS, IMPROVED, RECORDS, UNCONTROLLED
from penstock.papers.content_aware.table import (
    BOTTLENECK_USE,
    DELAY,
    LARGE_DELIVERED,
    LOST_DELIVERIES,
    REPORTS,
    TABLE_SIZE,
)
from penstock.papers.table import PaperRow

SETTLED_S = 3
"""In the paper losses disappear after three seconds."""


def large_rows(large: LargeRuns) -> list[PaperRow]:
    """Eight brokers, 760 clients."""
    name = load_large().name
    free = large[UNCONTROLLED.name]

    def against(policy: str, what: str) -> list[float]:
        pairs = zip(free, large[policy], strict=True)
        return [getattr(after, what) / getattr(before, what) for before, after in pairs]

    def lost(policy: str) -> list[float]:
        return [100 * each.missed_part(SETTLED_S) for each in large[policy]]

    by_seed = " and ".join(
        ", ".join(f"{part:.1f}" for part in lost(policy)) for policy in (FLOWS.name, IMPROVED.name)
    )
    comparison = (
        f"{lost(UNCONTROLLED.name)[0]:.0f} % without control, {lost(RECORDS.name)[0]:.0f} % with "
        f"records alone; by seed {by_seed}; at a round trip of 0.1 s the equation itself allows a "
        "flow of 40 messages a second a loss event rate of 4.5 %"
    )
    return [
        LOST_DELIVERIES.both_laws(name, lost, note=comparison),
        BOTTLENECK_USE.both_laws(name, lambda policy: [each.utilisation for each in large[policy]]),
        DELAY.both_laws(
            name,
            lambda policy: against(policy, "mean_delay_s"),
            note="a law that waits for losses keeps the queue full",
        ),
        LARGE_DELIVERED.both_laws(name, lambda policy: against(policy, "received_messages")),
        REPORTS.both_laws(
            name, lambda policy: [mean(each.feedback[SETTLED_S:]) for each in large[policy]]
        ),
        TABLE_SIZE.both_laws(
            name, lambda policy: [mean(each.flows[SETTLED_S:]) for each in large[policy]]
        ),
    ]
