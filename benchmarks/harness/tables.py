"""Results as Markdown: first where a peer is ahead, then the targets, then every measure.

Within a class of durability the best comes first.  A column that defines which value is better is
compared with our variants that guarantee at least as much; a peer that guarantees less is compared
too, and marked as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from benchmarks.harness.rounds import Results
from benchmarks.harness.targets import target_lines
from benchmarks.measures.measure import Case, Column, Measure, Scale
from benchmarks.peers.peer import Durability, Peer, Variant

OURS: Final = "Penstock"
LONGEST_REASON: Final = 100
"""Characters of a reason in a table; the output of the run has the full text."""


class Ahead(msgspec.Struct, frozen=True):
    """One figure of a peer, and our figures that are behind it."""

    what: str
    theirs: str
    ours: str
    times: float
    """The ratio to our figure that is furthest behind."""
    promise: str
    """The weaker guarantee of the peer; empty if it guarantees as much as we do."""


def is_ours(variant: Variant) -> bool:
    """Whether it is a variant of Penstock."""
    return variant.name.startswith(OURS)


def peers_ahead(
    measures: Sequence[Measure], peers: Sequence[Peer], results: Results, scale: Scale
) -> list[Ahead]:
    """All figures in which a peer is ahead: first the peers that guarantee as much as we do."""
    found: list[Ahead] = []
    for measure in measures:
        variants = _measured(measure, peers, results, scale)
        for case in measure.cases(scale):
            for column in measure.columns:
                if column.better:
                    what = f"{measure.title}, {case.name}, {column.name}"
                    known = [
                        (variant, figures[column.name])
                        for variant in variants
                        if (figures := results.medians(measure, variant, case))
                        and column.name in figures
                    ]
                    found += _ahead(what, column, known)
    return sorted(found, key=lambda each: (bool(each.promise), -each.times))


def _ahead(what: str, column: Column, known: list[tuple[Variant, float]]) -> Iterator[Ahead]:
    ours = [each for each in known if is_ours(each[0])]
    classes = list(Durability)
    for variant, value in known:
        behind = [
            (_times(own_value, value), own, own_value)
            for own, own_value in ours
            if (own_value < value if column.better == "more" else own_value > value)
            and classes.index(own.durability) <= classes.index(variant.durability)
        ]
        if behind and not is_ours(variant):
            behind.sort(key=lambda each: -each[0])
            yield Ahead(
                what,
                f"{variant.name}: {column.form.format(value)}",
                "; ".join(
                    f"{own.name}: {column.form.format(own_value)}" for _, own, own_value in behind
                ),
                behind[0][0],
                "" if variant.durability is Durability.SYNCED else variant.durability.value,
            )


def _times(one: float, other: float) -> float:
    """The ratio of the larger value to the smaller."""
    least = min(one, other)
    return max(one, other) / least if least else float("inf")


def _measured(
    measure: Measure, peers: Sequence[Peer], results: Results, scale: Scale
) -> list[Variant]:
    """The variants with a figure or a reason."""
    return [
        variant
        for peer in peers
        for variant in peer.variants
        if measure.applies(variant)
        and any(
            results.medians(measure, variant, case) or results.problem(measure, variant, case)
            for case in measure.cases(scale)
        )
    ]


def lines(
    measures: Sequence[Measure], peers: Sequence[Peer], results: Results, scale: Scale
) -> Iterator[str]:
    """The lines of the document."""
    yield from _ahead_lines(peers_ahead(measures, peers, results, scale), _compared(results))
    if results.problems:
        yield ""
        count = len(results.problems)
        yield f"{count} runs have no figure and are not listed above; the tables give the reasons."
    yield from target_lines(measures, peers, results, scale)
    for measure in measures:
        yield ""
        yield f"### {measure.title}"
        yield ""
        yield measure.about
        yield ""
        yield from table(measure, peers, results, scale)
    if results.absent:
        yield ""
        yield "Not measured: " + "; ".join(f"{n} ({r})" for n, r in results.absent.items()) + "."
    for name, said in results.unstopped.items():
        yield ""
        yield f"{name} did not stop cleanly: {said}"


def _compared(results: Results) -> bool:
    """Whether there are figures of ours and of a peer."""
    ours = {name.startswith(OURS) for _, name, _ in results.figures}
    return ours == {True, False}


def _ahead_lines(found: list[Ahead], compared: bool) -> Iterator[str]:
    yield "### Where a peer is ahead"
    yield ""
    if not found:
        yield "Nowhere, in what was measured." if compared else "Nothing was compared."
        return
    yield "| what | theirs | ours that are behind | times | what the peer promises instead |"
    yield "| --- | --- | --- | --- | --- |"
    for each in found:
        yield f"| {each.what} | {each.theirs} | {each.ours} | {each.times:.1f} | {each.promise} |"


def table(measure: Measure, peers: Sequence[Peer], results: Results, scale: Scale) -> Iterator[str]:
    """One measure: a row for each variant, a column for each case and figure."""
    cases = measure.cases(scale)
    heads = [f"{case.name}: {column.name}" for case in cases for column in measure.columns]
    yield f"| what | client | {' | '.join(heads)} |"
    yield "| --- | --- |" + " --- |" * len(heads)
    measured = _measured(measure, peers, results, scale)
    for durability in Durability:
        variants = [each for each in measured if each.durability is durability]
        if variants:
            yield f"| **{durability.value}** | |" + " |" * len(heads)
        for variant in _best_first(measure, variants, cases, results):
            cells = [cell for case in cases for cell in _cells(measure, variant, case, results)]
            yield f"| {variant.name} | {variant.client} | {' | '.join(cells)} |"


def _best_first(
    measure: Measure, variants: list[Variant], cases: tuple[Case, ...], results: Results
) -> list[Variant]:
    column = measure.columns[0]
    sign = -1.0 if column.better == "more" else 1.0

    def place(variant: Variant) -> float:
        figures = results.medians(measure, variant, cases[-1]) or {}
        return sign * figures[column.name] if column.name in figures else float("inf")

    return sorted(variants, key=place)


def _cells(measure: Measure, variant: Variant, case: Case, results: Results) -> list[str]:
    figures = results.medians(measure, variant, case)
    if figures is None:
        reason = results.problem(measure, variant, case).replace("|", "/")
        return [reason[:LONGEST_REASON], *[""] * (len(measure.columns) - 1)]
    return [
        column.form.format(figures[column.name]) if column.name in figures else "–"
        for column in measure.columns
    ]
