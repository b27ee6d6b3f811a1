"""The table of the held-out cases: one row for each kind of case and each law.

Bars: the median utilisation is at least 0.97, the worst flow of all cases has at least 0.85 of its
optimum, nobody gets less than a tenth, and 0.99 of the named causes are right.  A row that misses a
bar stays in the table and says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

import msgspec
from rich.table import Table
from rich.text import Text

from penstock.papers.held_out.generator import DRAWS
from penstock.papers.held_out.score import CaseScore, FlowScore

MEDIAN_BAR, WORST_BAR, NAMED_BAR = 0.97, 0.85, 0.99
WORST_CASES: Final = 5
NO_LINK: Final = "names none"


class HeldOutRow(msgspec.Struct, frozen=True):
    """A line of the table; the field names are the JSON's."""

    kind: str
    law: str
    cases: int
    median: float
    worst: float | None
    below_bar: int
    """Cases with a flow below the bar for the worst."""
    starving: int
    oscillation_median: float
    oscillation_worst: float
    named: int
    named_right: float | None
    """The share of right causes; None if none was named."""
    violations: int
    verdict: str


def rows_of(scores: Sequence[CaseScore]) -> list[HeldOutRow]:
    """The rows, in the order of the kinds; the law's verdict is computed."""
    found = []
    for kind in DRAWS:
        for law in ("paper", "improved"):
            chosen = [each for each in scores if (each.kind, each.law) == (kind, law)]
            if chosen:
                found.append(_row(kind, law, chosen))
    return found


def _row(kind: str, law: str, scores: Sequence[CaseScore]) -> HeldOutRow:
    worst = [each.worst for each in scores if each.worst is not None]
    named = sum(each.attribution.named for each in scores)
    row = HeldOutRow(
        kind,
        law,
        len(scores),
        median(each.utilisation for each in scores),
        min(worst, default=None),
        sum(each < WORST_BAR for each in worst),
        sum(len(each.starving) for each in scores),
        median(each.oscillation for each in scores),
        max(each.oscillation for each in scores),
        named,
        sum(each.attribution.right for each in scores) / named if named else None,
        sum(each.violations for each in scores),
        "",
    )
    return msgspec.structs.replace(row, verdict=verdict(row))


def verdict(row: HeldOutRow) -> str:
    """What the row misses, or that it meets all bars."""
    misses = []
    if row.median < MEDIAN_BAR:
        misses.append("median")
    if row.worst is not None and row.worst < WORST_BAR:
        misses.append("worst")
    if row.starving:
        misses.append("starving")
    if row.named_right is not None and row.named_right < NAMED_BAR:
        misses.append("cause")
    if row.violations:
        misses.append("promises")
    return f"misses {', '.join(misses)}" if misses else "meets all bars"


def worst_cases(scores: Sequence[CaseScore], count: int = WORST_CASES) -> list[CaseScore]:
    """The cases with the worst flow, or the least use of a mixture's bottleneck."""
    return sorted(scores, key=badness)[:count]


def badness(score: CaseScore) -> float:
    """The lower, the worse."""
    return score.utilisation if score.worst is None else min(score.worst, score.utilisation)


def happened(score: CaseScore) -> str:
    """What happened in a case, in one line."""
    parts = []
    below = sorted((each for each in score.flows if each.part < WORST_BAR), key=_part)
    if below and score.worst is not None:
        parts.append(", ".join(_flow_words(each) for each in below[:3]))
        if len(below) > 3:
            parts.append(f"{len(below) - 3} more flows below {WORST_BAR:g}")
    if score.starving:
        parts.append(f"starving: {', '.join(score.starving)}")
    wrong = score.attribution.named - score.attribution.right
    if wrong:
        said, times = max(score.attribution.wrong.items(), key=lambda each: each[1])
        parts.append(f"{wrong} wrong causes ({times} x {said})")
    if score.violations:
        parts.append(f"{score.violations} broken promises")
    if score.note:
        parts.append(score.note)
    return "; ".join(parts) or "nothing below its bar"


def _part(flow: FlowScore) -> float:
    return flow.part


def _flow_words(flow: FlowScore) -> str:
    return (
        f"{flow.name} gets {flow.part:.2f} of {flow.optimum:.3g} (wants {flow.demand:.3g}) "
        f"in phase {flow.phase + 1}"
    )


def render(rows: Iterable[HeldOutRow], title: str) -> Table:
    """The table for a terminal."""
    table = Table(title=title, header_style="bold")
    table.add_column("service")
    table.add_column("law")
    for column in (
        "cases",
        f"median (≥ {MEDIAN_BAR:g})",
        f"worst flow (≥ {WORST_BAR:g})",
        "cases below",
        "starving (0)",
        "oscillation, median",
        "worst",
        f"cause right (≥ {NAMED_BAR:g})",
        "broken promises",
    ):
        table.add_column(column, justify="right")
    table.add_column("verdict")
    for row in rows:
        style = "green" if row.verdict.startswith("meets") else "red"
        named = NO_LINK if row.named_right is None else f"{row.named_right:.3f} of {row.named}"
        table.add_row(
            row.kind,
            row.law,
            str(row.cases),
            f"{row.median:.3f}",
            "–" if row.worst is None else f"{row.worst:.3f}",
            "–" if row.worst is None else str(row.below_bar),
            str(row.starving),
            f"{row.oscillation_median:.3f}",
            f"{row.oscillation_worst:.3f}",
            named,
            str(row.violations),
            Text(row.verdict, style=style),
        )
    return table
