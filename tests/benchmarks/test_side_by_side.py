"""How the benchmarks present figures, and that they work on our own side; peers are not run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from benchmarks.__main__ import MEASURES
from benchmarks.harness.command import MARK_BEGIN, MARK_END, write
from benchmarks.harness.rounds import NO_TIME, Results, run_all
from benchmarks.harness.server import Server, ServerFailed
from benchmarks.harness.tables import lines, peers_ahead
from benchmarks.measures import throughput
from benchmarks.measures.measure import SCALES
from benchmarks.peers import ourselves
from benchmarks.peers.peer import Peer
from benchmarks.peers.registry import PEERS, chosen

SMALL = msgspec.structs.replace(
    SCALES["small"], messages=512, seconds=0.2, backlog=512, selectors=3
)
PUBLISH = msgspec.structs.replace(ourselves.PEER, variants=ourselves.PEER.variants[2:3])


def _results(rates: dict[str, float]) -> Results:
    results = Results()
    for name, rate in rates.items():
        for case in throughput.MEASURE.cases(SMALL):
            figures = {"messages/s": rate, "µs of processor": 1e6 / rate}
            results.figures["throughput", name, case.name] = [figures]
    return results


def test_the_report_begins_with_what_peers_do_better() -> None:
    rates = {
        "Penstock queue": 40_000.0,
        "Penstock publish/subscribe": 400_000.0,
        "RabbitMQ quorum": 50_000.0,
        "NATS core": 1_000_000.0,
    }
    results = _results(rates)
    ahead = peers_ahead([throughput.MEASURE], PEERS, results, SMALL)
    assert [each.promise for each in ahead] == [""] * 4 + ["nothing is kept"] * 4
    assert "Penstock queue: 40,000" in ahead[0].ours
    assert "publish/subscribe" not in ahead[0].ours
    text = list(lines([throughput.MEASURE], PEERS, results, SMALL))
    assert text[0] == "### Where a peer is ahead"
    places = {
        name: next(at for at, line in enumerate(text) if line.startswith(f"| {name} |"))
        for name in rates
    }
    # Classes in order; within one, the fastest first.
    assert sorted(places, key=lambda name: places[name]) == [
        "Penstock publish/subscribe", "RabbitMQ quorum", "Penstock queue", "NATS core",
    ]  # fmt: skip


def test_missed_targets_come_first() -> None:
    rates = {"Penstock queue": 400_000.0, "Penstock publish/subscribe": 90_000.0}
    results = _results({**rates, "RabbitMQ quorum": 10_000.0})
    text = list(lines([throughput.MEASURE], PEERS, results, SMALL))
    targets = [line for line in text if " / RabbitMQ quorum |" in line]
    assert (
        targets[0]
        == "| Penstock publish/subscribe / RabbitMQ quorum | 1 kB | 9.0 | ≥ 10 **missed** |"
    )
    assert "missed" not in targets[-1]


def test_a_document_keeps_the_text_outside_the_marks(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{MARK_BEGIN}\nold\n{MARK_END}\nafter\n")
    write(["new"], document)
    assert document.read_text() == f"before\n{MARK_BEGIN}\nnew\n{MARK_END}\nafter\n"
    document.write_text("no marks")
    with pytest.raises(SystemExit, match="to write between"):
        write(["new"], document)


def test_a_missing_or_broken_peer_is_reported_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.harness.server.search_path", lambda: "")

    @contextmanager
    def broken(directory: Path) -> Iterator[Server]:
        raise ServerFailed("it ended at once")
        yield

    peers = [*chosen(["redis"]), Peer("Broken", "", "", broken, ())]
    results = run_all([throughput.MEASURE], peers, SMALL, 60.0)
    assert results.absent["Redis, synced always"] == "not installed: apt-get install redis-server"
    assert results.absent["Broken"] == "it ended at once"


def test_measures_without_time_are_reported() -> None:
    results = run_all([throughput.MEASURE], [PUBLISH], SMALL, 0.0)
    assert set(results.problems.values()) == {NO_TIME}
    text = list(lines([throughput.MEASURE], [PUBLISH], results, SMALL))
    assert NO_TIME in "\n".join(text)
    assert text[2] == "Nothing was compared."


def test_every_measure_runs_on_our_own_side() -> None:
    narrow = [
        msgspec.structs.replace(each, cases=lambda scale, cases=each.cases: cases(scale)[:1])
        for each in MEASURES
    ]
    results = run_all(narrow, [PUBLISH], SMALL, 300.0)
    # A busy machine may not reach the rate at which latency is measured, and reports that.
    problems = {name: said for (name, _, _), said in results.problems.items()}
    assert problems.keys() <= {"latency"}, problems
    assert {name for name, _, _ in results.figures} | problems.keys() == {
        each.name for each in MEASURES
    }
    columns = {each.name: {column.name for column in each.columns} for each in MEASURES}
    for (name, _, _), (figures,) in results.figures.items():
        assert figures
        assert figures.keys() <= columns[name]
        assert all(value > 0 for value in figures.values())
