"""The rows of the Gryphon table: the paper's results, the bars, and our results."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Final

from penstock.papers.gryphon.runs import (
    Kept,
    first_at_least,
    jain,
    largest,
    mean_between,
    recovery_s,
)
from penstock.papers.table import SHOWN, Bar, PaperRow, at_least, at_most, row

SERVICE: Final = "guaranteed"
MESSAGE_BYTES: Final = 368
KB: Final = 1024

THRESHOLDS: Final = [-0.2, 0.0, 0.6, 1.0, 1.4, 1.8, 2.0]
"""Δt_rec of E4, tick seconds per second: the paper's range, and where its curve bends."""

E1_MENDED, E2_PHASES, E3_MENDED, E4_MENDED = 150.0, (30.0, 150.0, 270.0), 270.0, 130.0

Runs = dict[str, list[Kept]]


def collapse_rows(runs: Runs) -> list[PaperRow]:
    """Section 2: without control, and with each mechanism alone."""
    rows = [
        row(
            SERVICE, "collapse 1: IB-SB1 60 KB/s", "SB1 rate from 150 s on", "msg/s",
            paper="falls to 0", bar=at_most(5),
            paper_law=[mean_between(k.delivered["s1"], 160, 210) for k in runs["collapse 1"]],
            note="no control",
        ),
        row(
            SERVICE, "collapse 1: IB-SB1 60 KB/s", "SB2 rate", "msg/s",
            paper="unharmed", bar=at_least(495),
            paper_law=[mean_between(k.delivered["s2"], 160, 210) for k in runs["collapse 1"]],
            note="no control",
        ),
    ]  # fmt: skip
    for name, bar, note in (
        ("collapse 2", at_most(100), "no control; requests repeated after 3 s at most"),
        ("SDCC alone", SHOWN, "publishers are not slowed: the recovering edge starves"),
        ("PDCC alone", SHOWN, "requests are not paced: the queue overflows"),
    ):
        rows += [
            row(
                SERVICE, f"{name}: outage of 120 s, PB-IB 250 KB/s",
                f"S{edge} rate 300 s later", "msg/s",
                paper="far below, for good" if name == "collapse 2" else "independent",
                bar=bar,
                paper_law=[mean_between(k.delivered[f"s{edge[1]}"], 430, 450) for k in runs[name]],
                note=note,
            )
            for edge in ("B1", "B2")
        ]  # fmt: skip
        rows.append(
            row(
                SERVICE, f"{name}: outage of 120 s, PB-IB 250 KB/s", "messages dropped", "",
                paper="–", bar=SHOWN, paper_law=[k.dropped for k in runs[name]], note=note,
            )
        )  # fmt: skip
    return rows


def e1_rows(runs: Runs) -> list[PaperRow]:
    """E1: recovery after a link failure."""
    paper, improved, starving = runs["E1 paper"], runs["E1 improved"], runs["E1 starving improved"]

    def recoveries(kept: list[Kept]) -> list[float]:
        return [recovery_s(k.lag_s["sb2"], E1_MENDED) for k in kept]

    def returns(kept: list[Kept]) -> list[float]:
        return [
            first_at_least(k.published, 450, E1_MENDED + recovery_s(k.lag_s["sb2"], E1_MENDED))
            for k in kept
        ]

    return [
        row(
            SERVICE, "E1", "recovery", "s", paper="160", bar=at_most(160), stretch=at_most(86),
            paper_law=recoveries(paper), improved_law=recoveries(improved),
            note="a tenth of the rate is left to live traffic",
        ),
        row(
            SERVICE, "E1", "recovery without a floor for live traffic", "s", paper="160",
            bar=at_most(160), stretch=at_most(86),
            paper_law=recoveries(paper), improved_law=recoveries(starving),
            note="the improved law with live_floor_share = 0.008 (1 msg/s)",
        ),
        row(
            SERVICE, "E1", "450 msg/s again after", "s", paper="then 500", bar=at_most(90),
            stretch=at_most(15), paper_law=returns(paper), improved_law=returns(improved),
        ),
        row(
            SERVICE, "E1", "largest queue", "B", paper="–", bar=at_most(1_000_000),
            paper_law=[largest(k.queue_bytes) for k in paper],
            improved_law=[largest(k.queue_bytes) for k in improved],
        ),
        row(
            SERVICE, "E1", "messages dropped", "", paper="–", bar=at_most(0),
            paper_law=[k.dropped for k in paper], improved_law=[k.dropped for k in improved],
        ),
        row(
            SERVICE, "E1", "spike of SB2 at the end / its rate during recovery", "×",
            paper="yes", bar=at_least(2),
            paper_law=[_spike(k) for k in paper], improved_law=[_spike(k) for k in improved],
        ),
        row(
            SERVICE, "E1, PB-IB 500 KB/s", "NACK window: plateau / start", "×",
            paper="900 / 200 ms", bar=at_least(3),
            paper_law=[_window_growth(k)[0] for k in runs["E1 window"]],
            note="mean over the middle third of the recovery / over its first second",
        ),
        row(
            SERVICE, "E1, PB-IB 500 KB/s", "NACK window: end / plateau", "×",
            paper="more at the end", bar=at_least(1.05),
            paper_law=[_window_growth(k)[1] for k in runs["E1 window"]],
        ),
        row(
            SERVICE, "E1", "limits that name SB2 as their cause", "share", paper="–",
            bar=at_least(0.9), paper_law=[_share(k, "sb2", "sb1") for k in paper],
            improved_law=[_share(k, "sb2", "sb1") for k in improved],
        ),
        row(
            SERVICE, "cache that holds the outage", "recovery", "s", paper="–", bar=at_most(5),
            paper_law=recoveries(runs["cache"]), note="relay cache 32 MiB",
        ),
    ]  # fmt: skip


def _spike(kept: Kept) -> float:
    end = E1_MENDED + recovery_s(kept.lag_s["sb2"], E1_MENDED)
    during = mean_between(kept.delivered["s2"], E1_MENDED + 10, E1_MENDED + 50)
    peak = max(value for at, value in kept.delivered["s2"] if E1_MENDED + 50 < at < end + 5)
    return peak / max(during, 1.0)


def _window_growth(kept: Kept) -> tuple[float, float]:
    took = recovery_s(kept.lag_s["sb2"], E1_MENDED)
    window = kept.nack_window_ms["sb2"]
    start = mean_between(window, E1_MENDED, E1_MENDED + 1)
    plateau = mean_between(window, E1_MENDED + took / 3, E1_MENDED + 2 * took / 3)
    end = max(value for at, value in window if E1_MENDED < at < E1_MENDED + took + 3)
    return plateau / max(start, 1.0), end / max(plateau, 1.0)


def _share(kept: Kept, right: str, *wrong: str) -> float:
    """The share of the right broker or link among all causes that were named."""
    named = kept.blamed.get(right, 0)
    total = named + sum(kept.blamed.get(each, 0) for each in wrong)
    return named / total if total else 0.0


def e2_rows(runs: Runs) -> list[PaperRow]:
    """E2: a bandwidth limit that changes."""
    paper, improved = runs["E2 paper"], runs["E2 improved"]
    rows = []
    for start, limit in zip(E2_PHASES, (60, 150, 60), strict=True):
        capacity = limit * KB / MESSAGE_BYTES
        label = f"E2, {limit} KB/s from {start:g} s"

        def used(kept: list[Kept], low: float, high: float, of: float = capacity) -> list[float]:
            return [mean_between(k.delivered["s1"], low, high) / of for k in kept]

        rows += [
            row(
                SERVICE, label, "utilisation in the last 60 s", "share", paper="near the optimum",
                bar=at_least(0.90), paper_law=used(paper, start + 60, start + 120),
                improved_law=used(improved, start + 60, start + 120),
            ),
            row(
                SERVICE, label, "utilisation over the phase", "share", paper="–", bar=SHOWN,
                stretch=at_least(0.97), paper_law=used(paper, start, start + 120),
                improved_law=used(improved, start, start + 120),
            ),
            row(
                SERVICE, label, "90 % used after", "s", paper="quickly", bar=SHOWN,
                stretch=at_most(15),
                paper_law=[first_at_least(k.delivered["s1"], 0.9 * capacity, start) for k in paper],
                improved_law=[
                    first_at_least(k.delivered["s1"], 0.9 * capacity, start) for k in improved
                ],
            ),
        ]  # fmt: skip
    rows += [
        row(
            SERVICE, "E2", "largest queue", "B", paper="< 1 MB", bar=at_most(1_000_000),
            stretch=at_most(128 * KB), paper_law=[largest(k.queue_bytes) for k in paper],
            improved_law=[largest(k.queue_bytes) for k in improved],
        ),
        row(
            SERVICE, "E2", "messages dropped", "", paper="–", bar=at_most(0),
            paper_law=[k.dropped for k in paper], improved_law=[k.dropped for k in improved],
        ),
        row(
            SERVICE, "E2", "lowest alert at the first limit", "tick s/s", paper="half",
            bar=at_most(0.6),
            paper_law=[min(v for at, v in k.alerts_nonrecovering if at >= 30) for k in paper],
        ),
        row(
            SERVICE, "E2", "median alert in a steady phase", "tick s/s", paper="just below 1",
            bar=Bar("0.9 … 1", lambda value: 0.9 <= value <= 1.0),
            paper_law=[
                median(v for at, v in k.alerts_nonrecovering if 90 <= at < 150) for k in paper
            ],
        ),
        row(
            SERVICE, "E2", "limits that name the thin link", "share", paper="–",
            bar=at_least(0.9), paper_law=[_share(k, "ib->sb1", "ib->sb2", "pb->ib") for k in paper],
            improved_law=[_share(k, "ib->sb1", "ib->sb2", "pb->ib") for k in improved],
        ),
    ]  # fmt: skip
    return rows


def e3_rows(runs: Runs) -> list[PaperRow]:
    """E3: limits and a failure in a larger tree."""
    paper, improved = runs["E3 paper"], runs["E3 improved"]

    def limited(kept: list[Kept]) -> list[float]:
        return [mean_between(k.published, 80, 150) for k in kept]

    def recoveries(kept: list[Kept]) -> list[float]:
        return [recovery_s(k.lag_s["sb5"], E3_MENDED) for k in kept]

    def above(kept: list[Kept]) -> list[float]:
        shares = []
        for k in kept:
            end = E3_MENDED + recovery_s(k.lag_s["sb5"], E3_MENDED)
            values = [v for at, v in k.horizon_rate["sb5"] if E3_MENDED + 6 <= at < end - 1]
            shares.append(sum(v >= 1.45 for v in values) / max(1, len(values)))
        return shares

    return [
        row(
            SERVICE, "E3", "publication rate under the limit", "msg/s", paper="reduced",
            bar=at_least(0.95 * 420), stretch=at_least(0.99 * 420),
            paper_law=limited(paper), improved_law=limited(improved),
            note="150 KB/s carry 417 messages of 368 B",
        ),
        row(
            SERVICE, "E3", "recovery of SB5", "s", paper="recovers", bar=at_most(140),
            stretch=at_most(61), paper_law=recoveries(paper), improved_law=recoveries(improved),
        ),
        row(
            SERVICE, "E3", "samples with a rate of 1.45 or more after 6 s", "share",
            paper="above the threshold", bar=at_least(0.95), paper_law=above(paper),
            improved_law=above(improved),
        ),
        row(
            SERVICE, "E3", "peak of SB5's rate", "tick s/s", paper="5", bar=at_least(5),
            paper_law=[
                max(v for at, v in k.horizon_rate["sb5"] if at >= E3_MENDED) for k in paper
            ],
            improved_law=[
                max(v for at, v in k.horizon_rate["sb5"] if at >= E3_MENDED) for k in improved
            ],
        ),
        row(
            SERVICE, "E3", "largest queue", "B", paper="no build-up", bar=at_most(1_000_000),
            paper_law=[largest(k.queue_bytes) for k in paper],
            improved_law=[largest(k.queue_bytes) for k in improved],
        ),
    ]  # fmt: skip


def e4_recoveries(runs: Runs, law: str, threshold: float) -> list[float]:
    """Recovery times of E4 for one threshold."""
    return [recovery_s(k.lag_s["sb2"], E4_MENDED) for k in runs[f"E4 {threshold} {law}"]]


def _fairness(kept: Kept) -> float:
    end = E4_MENDED + min(recovery_s(kept.lag_s["sb2"], E4_MENDED), 90)
    curves = kept.published_by_pubend.values()
    return jain([mean_between(curve, E4_MENDED + 5, end) for curve in curves])


def _publication(kept: Kept) -> float:
    end = E4_MENDED + min(recovery_s(kept.lag_s["sb2"], E4_MENDED), 90)
    return mean_between(kept.published, E4_MENDED + 5, end)


def e4_rows(runs: Runs) -> list[PaperRow]:
    """E4: recovery time against the threshold."""
    rows = []
    for threshold in THRESHOLDS:
        high, low = threshold >= 1.8, threshold <= 0.6
        paper, improved = runs[f"E4 {threshold} paper"], runs[f"E4 {threshold} improved"]
        rows.append(
            row(
                SERVICE, f"E4, Δt_rec = {threshold:g}", "recovery", "s",
                paper="falls, saturates at 1.8", bar=SHOWN,
                stretch=at_most(43) if high else None,
                paper_law=e4_recoveries(runs, "paper", threshold),
                improved_law=e4_recoveries(runs, "improved", threshold),
            )
        )  # fmt: skip
        if high:
            rows.append(
                row(
                    SERVICE, f"E4, Δt_rec = {threshold:g}", "Jain index of the pubends", "",
                    paper="unfair", bar=SHOWN, stretch=at_least(0.98),
                    paper_law=[_fairness(k) for k in paper],
                    improved_law=[_fairness(k) for k in improved],
                )
            )  # fmt: skip
        if low:
            rows.append(
                row(
                    SERVICE, f"E4, Δt_rec = {threshold:g}", "publication during recovery",
                    "msg/s", paper="–", bar=SHOWN, stretch=at_least(480),
                    paper_law=[_publication(k) for k in paper],
                    improved_law=[_publication(k) for k in improved],
                )
            )  # fmt: skip
    rises = [_largest_rise(runs, law) for law in ("paper", "improved")]
    rows.append(
        row(
            SERVICE, "E4", "largest rise of the median from one threshold to the next, 0 … 2",
            "share", paper="falls", bar=at_most(0.05), paper_law=[rises[0]],
            improved_law=[rises[1]],
        )
    )  # fmt: skip
    return rows


def _largest_rise(runs: Runs, law: str) -> float:
    medians = [median(e4_recoveries(runs, law, each)) for each in THRESHOLDS if each >= 0]
    rises = [later / earlier - 1 for earlier, later in pairwise(medians)]
    return max(rises)


def exactness_rows(runs: Runs) -> list[PaperRow]:
    """Nothing lost, duplicated or out of order, in any run with control."""
    with_control = [
        k for name, kept in runs.items() if not name.startswith("collapse") for k in kept
        if "alone" not in name
    ]  # fmt: skip
    paper = [k for k in with_control if k.job.law == "paper"]
    improved = [k for k in with_control if k.job.law == "improved"]
    return [
        row(
            SERVICE, "every run", metric.replace("_", " "), "messages", paper="never",
            bar=at_most(0), stretch=at_most(0),
            paper_law=[float(max(getattr(k, metric) for k in paper))],
            improved_law=[float(max(getattr(k, metric) for k in improved))],
            note=f"the worst of {len(with_control)} runs",
        )
        for metric in ("lost", "duplicated", "out_of_order")
    ]  # fmt: skip
