"""The rows of the Gryphon table: the paper's results, the bars, and what is measured.

Bars and stretches are those of docs/papers/gryphon.md.  A data message has 368 bytes on the wire
(the multiple of eight next to 366).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Final

from penstock.lab.experiments.experiment import Experiment
from penstock.lab.experiments.results import Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import SHOWN, at_least, at_most, median_of, within
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.papers.gryphon import measures
from penstock.papers.gryphon.experiments import (
    EXPERIMENTS,
    KB,
    LATENCIES_MS,
    LAWS,
    LIVE,
    SHARE,
    THRESHOLDS,
)

MESSAGE_BYTES: Final = 368
LARGEST_QUEUE: Final = Measurement(metric="queue_bytes")
DROPPED: Final = Measurement(metric="dropped_messages", aggregate="last")
BOUNDED, SMALL = at_most(1_000_000), at_most(128 * KB)
"""Bar and stretch for the largest queue."""


def _delivered(subscriber: str, low_s: float, high_s: float) -> Measurement:
    return Measurement(metric="delivered_rate", subject=subscriber, from_s=low_s, to_s=high_s)


# -- Section 2: without control, and with each mechanism alone -------------------------------------

COLLAPSES: Final = (
    ("collapse 2", "far below, for good", at_most(100),
     "no control; requests repeated after 3 s at most"),
    ("SDCC alone", "independent", SHOWN, "publishers are not slowed: the recovering edge starves"),
    ("PDCC alone", "independent", SHOWN, "requests are not paced: the queue overflows"),
)  # fmt: skip


def _collapses() -> Iterator[Row]:
    for metric, paper, bar, subscriber in (
        ("SB1 rate from 150 s on", "falls to 0", at_most(5), "s1"),
        ("SB2 rate", "unharmed", at_least(495), "s2"),
    ):
        yield Row("collapse 1: IB-SB1 60 KB/s", metric, "msg/s", paper, bar, note="no control",
                  paper_law="collapse 1", measure=_delivered(subscriber, 160, 210))  # fmt: skip
    for name, paper, bar, note in COLLAPSES:
        run = f"{name}: outage of 120 s, PB-IB 250 KB/s"
        for number in (1, 2):
            yield Row(run, f"SB{number} rate 300 s later", "msg/s", paper, bar, note=note,
                      paper_law=name, measure=_delivered(f"s{number}", 430, 450))  # fmt: skip
        yield Row(run, "messages dropped", "", note=note, paper_law=name, measure=DROPPED)


# -- E1: recovery after a link failure -------------------------------------------------------------

E1_RECOVERY: Final = partial(measures.recovery_s, edge="sb2", mended_s=150.0)

E1: Final = (
    Row("E1", "recovery", "s", "160", at_most(160), stretch=at_most(86), laws="E1",
        measure=E1_RECOVERY, note="a tenth of the rate is left to live traffic"),
    Row("E1", "recovery without a floor for live traffic", "s", "160", at_most(160),
        stretch=at_most(86), paper_law="E1 paper", improved_law="E1 starving improved",
        measure=E1_RECOVERY, note="the improved law with live_floor_share = 0.008 (1 msg/s)"),
    Row("E1", "450 msg/s again after", "s", "then 500", at_most(90), stretch=at_most(15),
        laws="E1", measure=partial(measures.return_s, edge="sb2", mended_s=150.0)),
    Row("E1", "largest queue", "B", "–", BOUNDED, laws="E1", measure=LARGEST_QUEUE),
    Row("E1", "messages dropped", "", "–", at_most(0), laws="E1", measure=DROPPED),
    Row("E1", "spike of SB2 at the end / its rate during recovery", "×", "yes", at_least(2),
        laws="E1", measure=partial(measures.spike, edge="sb2", subscriber="s2", mended_s=150.0)),
    Row("E1, PB-IB 500 KB/s", "NACK window: plateau / start", "×", "900 / 200 ms", at_least(3),
        paper_law="E1 window",
        measure=partial(measures.nack_window, edge="sb2", mended_s=150.0, end=False),
        note="mean over the middle third of the recovery / over its first second"),
    Row("E1, PB-IB 500 KB/s", "NACK window: end / plateau", "×", "more at the end", at_least(1.05),
        paper_law="E1 window",
        measure=partial(measures.nack_window, edge="sb2", mended_s=150.0, end=True)),
    Row("E1", "limits that name SB2 as their cause", "share", "–", at_least(0.9), laws="E1",
        measure=partial(measures.share_named, right="sb2", wrong=("sb1",))),
    Row("cache that holds the outage", "recovery", "s", "–", at_most(5), paper_law="cache",
        measure=E1_RECOVERY, note="relay cache 32 MiB"),
)  # fmt: skip


# -- E2: a bandwidth limit that changes ------------------------------------------------------------

E2_PHASES: Final = tuple(
    (start_s, limit_kb, limit_kb * KB / MESSAGE_BYTES)
    for start_s, limit_kb in ((30, 60), (150, 150), (270, 60))
)
"""When each limit begins, the limit in KB/s, and the messages that it carries in a second."""


def _e2_phases() -> Iterator[Row]:
    for start_s, limit_kb, capacity in E2_PHASES:
        run = f"E2, {limit_kb} KB/s from {start_s:g} s"
        used = partial(measures.use_s, subscriber="s1", rate_msgs_per_s=0.9 * capacity,
                       after_s=start_s)  # fmt: skip
        yield Row(run, "utilisation in the last 60 s", "share", "near the optimum", at_least(0.90),
                  laws="E2", measure=_delivered("s1", start_s + 60, start_s + 120),
                  scale=1 / capacity)  # fmt: skip
        yield Row(run, "utilisation over the phase", "share", stretch=at_least(0.97), laws="E2",
                  measure=_delivered("s1", start_s, start_s + 120), scale=1 / capacity)  # fmt: skip
        yield Row(run, "90 % used after", "s", "quickly", stretch=at_most(15), laws="E2",
                  measure=used)  # fmt: skip


E2: Final = (
    Row("E2", "largest queue", "B", "< 1 MB", BOUNDED, stretch=SMALL, laws="E2",
        measure=LARGEST_QUEUE),
    Row("E2", "messages dropped", "", "–", at_most(0), laws="E2", measure=DROPPED),
    Row("E2", "lowest alert at the first limit", "tick s/s", "half", at_most(0.6),
        paper_law="E2 paper",
        measure=Measurement(metric="alert_nonrecovering", from_s=30, aggregate="min")),
    Row("E2", "median alert in a steady phase", "tick s/s", "just below 1", within(0.9, 1),
        paper_law="E2 paper",
        measure=Measurement(metric="alert_nonrecovering", from_s=90, to_s=150, aggregate="p50")),
    Row("E2", "limits that name the thin link", "share", "–", at_least(0.9), laws="E2",
        measure=partial(measures.share_named, right="ib->sb1", wrong=("ib->sb2", "pb->ib"))),
)  # fmt: skip


# -- E3: limits and a failure in a larger tree -----------------------------------------------------

E3: Final = (
    Row("E3", "publication rate under the limit", "msg/s", "reduced", at_least(0.95 * 420),
        stretch=at_least(0.99 * 420), laws="E3",
        measure=partial(measures.published_rate, low_s=80, high_s=150),
        note="150 KB/s carry 417 messages of 368 B"),
    Row("E3", "recovery of SB5", "s", "recovers", at_most(140), stretch=at_most(61), laws="E3",
        measure=partial(measures.recovery_s, edge="sb5", mended_s=270.0)),
    Row("E3", "samples with a rate of 1.45 or more after 6 s", "share", "above the threshold",
        at_least(0.95), laws="E3",
        measure=partial(measures.share_above, edge="sb5", mended_s=270.0, rate=1.45)),
    Row("E3", "peak of SB5's rate", "tick s/s", "5", at_least(5), laws="E3",
        measure=partial(measures.peak_rate, edge="sb5", after_s=270.0)),
    Row("E3", "largest queue", "B", "no build-up", BOUNDED, laws="E3", measure=LARGEST_QUEUE),
)  # fmt: skip


# -- E4: recovery time against the threshold -------------------------------------------------------

E4_RECOVERY: Final = partial(measures.recovery_s, edge="sb2", mended_s=130.0)
E4_JAIN: Final = partial(measures.pubends_jain, edge="sb2", mended_s=130.0)
E4_PUBLICATION: Final = partial(measures.publication_during, edge="sb2", mended_s=130.0)


def _e4() -> Iterator[Row]:
    for threshold in THRESHOLDS:
        run, laws = f"E4, Δt_rec = {threshold:g}", f"E4 {threshold:g}"
        stretch = at_most(43) if threshold >= 1.8 else None
        yield Row(run, "recovery", "s", "falls, saturates at 1.8", stretch=stretch, laws=laws,
                  measure=E4_RECOVERY)  # fmt: skip
        if threshold >= 1.8:
            yield Row(run, "Jain index of the pubends", "", "unfair", stretch=at_least(0.98),
                      laws=laws, measure=E4_JAIN)  # fmt: skip
        if threshold <= 0.6:
            yield Row(run, "publication during recovery", "msg/s", stretch=at_least(480),
                      laws=laws, measure=E4_PUBLICATION)  # fmt: skip
    rising = [each for each in THRESHOLDS if each >= 0]
    paper, improved = (tuple(f"E4 {each:g} {law}" for each in rising) for law in LAWS)
    yield Row("E4", "largest rise of the median from one threshold to the next, 0 … 2", "share",
              "falls", at_most(0.05), paper_law=paper, improved_law=improved, measure=E4_RECOVERY,
              combine=_largest_rise)  # fmt: skip


def _largest_rise(recoveries: Sequence[Sequence[float]]) -> list[float]:
    medians = [median_of(each) for each in recoveries]
    return [max(later / earlier - 1 for earlier, later in pairwise(medians))]


# -- cases for which no law was tuned --------------------------------------------------------------

RETURNS: Final = {f"sb{number}": 130.0 + 10 * number for number in range(2, 7)}
"""When each edge is connected again."""

SIZES: Final = {"pb.1": 366, "pb.2": 4000}


def _five_seconds(
    result: RunResult, low_s: float, worst: Callable[[Iterable[float]], float]
) -> float:
    """The least or the most publication rate in any five seconds: batches are a second apart."""
    starts = range(int(low_s), 115, 5)
    return worst(measures.published_rate(result, at_s, at_s + 5) for at_s in starts)


def _held_out() -> Iterator[Row]:
    for latency_ms in LATENCIES_MS:
        run, laws = f"60 s outage, link of {latency_ms} ms", f"long link {latency_ms}"
        yield Row(run, "recovery", "s", laws=laws,
                  measure=partial(measures.recovery_s, edge="sb2", mended_s=90.0))  # fmt: skip
        yield Row(run, "least publication in a second", "msg/s", stretch=at_least(475), laws=laws,
                  measure=partial(measures.least_published, low_s=5, high_s=199),
                  note="500 are offered, and nothing is congested")  # fmt: skip
    run = "five edges return 10 s apart, PB-IB 500 KB/s"
    yield Row(run, "longest recovery", "s", stretch=at_most(100), laws="returns",
              measure=partial(measures.longest_recovery_s, mended_s=RETURNS))  # fmt: skip
    yield Row(run, "publication from 150 to 290 s", "msg/s", stretch=at_least(150), laws="returns",
              measure=partial(measures.published_rate, low_s=150, high_s=290))  # fmt: skip
    yield Row("brokers with a quarter of a processor", "publication from 5 to 58 s", "msg/s",
              stretch=at_least(360), laws="starved",
              measure=partial(measures.published_rate, low_s=5, high_s=58),
              note="400 are offered, and published without control")  # fmt: skip
    run = "an unpaced publisher, link of 100 kB/s behind a relay"
    least, most = (partial(_five_seconds, low_s=12, worst=worst) for worst in (min, max))
    yield Row(run, "least publication in 5 s, 10 s after the start", "msg/s",
              stretch=at_least(90), laws="unpaced", measure=least)  # fmt: skip
    yield Row(run, "most publication in 5 s, 10 s after the start", "msg/s",
              stretch=at_most(110), laws="unpaced", measure=most)  # fmt: skip
    run = "two equal paths of 80 KB/s, one is cut for 15 s"
    yield Row(run, "publication over both by that over one", "times", stretch=at_least(1.8),
              laws="equal-paths", measure=measures.paths_gain)  # fmt: skip
    yield Row(f"{run}, live", "publication over both by that over one", "times",
              stretch=at_least(1.8), improved_law="equal-paths live improved",
              measure=measures.paths_gain)  # fmt: skip
    yield Row("messages of 366 B and 4 kB, 80 KB/s", "bytes of one pubend by those of the other",
              "share", stretch=at_least(0.95), laws="sizes",
              measure=partial(measures.byte_shares, sizes=SIZES, low_s=30, high_s=90))  # fmt: skip


# -- nothing lost, duplicated or out of order, in any run with control -----------------------------

BEYOND_THE_PAPER: Final = ("equal-paths", "long link", "returns", "sizes", "starved", "unpaced")

RULES: Final = ("lost", "duplicated", "out_of_order")
UNCONTROLLED: Final = ("collapse 1", "collapse 2", "SDCC alone", "PDCC alone")


def _exactness() -> Iterator[Row]:
    simulated = [
        key
        for key, source in EXPERIMENTS.items()
        if isinstance(source, Experiment) and source.world == "sim" and key not in UNCONTROLLED
    ]
    improved = tuple(key for key in simulated if key.endswith("improved"))
    # On the cases below, a run of the paper's law may end before everything has arrived.
    paper = tuple(
        key for key in simulated if key not in improved and not key.startswith(BEYOND_THE_PAPER)
    )

    def note(results: Results) -> str:
        return f"the worst of {sum(map(results.seeds, simulated))} runs"

    for rule in RULES:
        yield Row("every run", rule.replace("_", " "), "messages", "never", at_most(0),
                  stretch=at_most(0), paper_law=paper, improved_law=improved, note=note,
                  measure=Measurement(metric=rule), combine=_worst)  # fmt: skip


def _worst(violations: Sequence[Sequence[float]]) -> list[float]:
    return [max(chain.from_iterable(violations))]


# -- a job that catches up beside live traffic -----------------------------------------------------

CATCH_UP: Final = tuple(
    Row(f"a job catches up, {reading}", metric, unit, "–", bar, improved_law=f"catch-up {reading}",
        measure=measure)
    for reading, keeps_up in (("paced", at_least(0.95)), ("naive", SHOWN))
    for metric, unit, bar, measure in (
        ("least rate of the live edge", "tick s/s", keeps_up, "least rate"),
        ("time below 0.95", "share", SHOWN, "share below"),
        ("longest lag of the live edge", "s", SHOWN, "longest lag"),
        ("published meanwhile", "msg/s", SHOWN, "live"),
        ("took", "s", SHOWN, "took"),
        ("messages missed", "", at_most(0), "missed"),
    )
)  # fmt: skip


# -- E1 and E2 as processes on this machine --------------------------------------------------------


def _live(label: str) -> Iterator[Row]:
    run, laws = f"E1 {label}, 40 % of the time", f"E1 {label}"
    mended_s = 150 * SHARE
    yield Row(run, "recovery", "s", "160 for 120 s", at_most(160 * SHARE),
              stretch=at_most(86 * SHARE), laws=laws,
              measure=partial(measures.recovery_s, edge="sb2", mended_s=mended_s))  # fmt: skip
    yield Row(run, "450 msg/s again after", "s", "then 500", at_most(90), stretch=at_most(15),
              laws=laws, measure=partial(measures.return_s, edge="sb2", mended_s=mended_s),
              note="the run ends before the paper's law is there, 78 s later in the simulator",
              )  # fmt: skip
    yield Row(run, "largest queue", "B", "< 1 MB", BOUNDED, stretch=SMALL, laws=laws,
              measure=LARGEST_QUEUE)  # fmt: skip
    laws = f"E2 {label}"
    for start_s, limit_kb, capacity in E2_PHASES:
        half = _delivered("s1", (start_s + 60) * SHARE, (start_s + 120) * SHARE)
        yield Row(f"E2 {label}, {limit_kb} KB/s", "utilisation in the second half", "share",
                  "near the optimum", at_least(0.80), stretch=at_least(0.95), laws=laws,
                  measure=half, scale=1 / capacity,
                  note="the second 24 s of 48 s: the paper's law still climbs")  # fmt: skip
    yield Row(f"E2 {label}", "largest queue", "B", "< 1 MB", BOUNDED, stretch=SMALL, laws=laws,
              measure=LARGEST_QUEUE)  # fmt: skip
    paper, improved = (tuple(f"{each} {label} {law}" for each in ("E1", "E2")) for law in LAWS)
    for rule in RULES:
        yield Row(f"every run {label}", rule.replace("_", " "), "messages", "never", at_most(0),
                  stretch=at_most(0), paper_law=paper, improved_law=improved,
                  measure=Measurement(metric=rule), combine=_worst)  # fmt: skip


ROWS: Final = (
    *_collapses(),
    *E1,
    *_e2_phases(),
    *E2,
    *E3,
    *_e4(),
    *_held_out(),
    *_exactness(),
    *CATCH_UP,
    *chain.from_iterable(map(_live, LIVE)),
)
