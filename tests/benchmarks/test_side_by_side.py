"""The table that the benchmarks write, and that a run of our own side works; peers are not run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.peers import ourselves
from benchmarks.side_by_side import (
    MARK_BEGIN,
    MARK_END,
    PEERS,
    SIZES,
    Measured,
    Results,
    chosen,
    run,
    table,
    write,
)


def _results(rates: dict[str, float]) -> Results:
    return {(name, size): [Measured(rate, 10.0)] for name, rate in rates.items() for size in SIZES}


def test_within_a_class_the_quickest_comes_first_and_what_is_missed_is_named_first() -> None:
    rates = {
        "Penstock queue": 40_000.0,
        "Penstock publish/subscribe": 400_000.0,
        "RabbitMQ quorum": 10_000.0,
        "NATS core": 1_000_000.0,
    }
    lines = list(table(PEERS, _results(rates), 1000, 1))
    places = {
        name: next(at for at, line in enumerate(lines) if f"| {name} |" in line) for name in rates
    }
    assert places["Penstock publish/subscribe"] < places["Penstock queue"]
    assert places["Penstock queue"] < places["RabbitMQ quorum"] < places["NATS core"]
    ratios = [line for line in lines if "/ RabbitMQ quorum" in line]
    assert ratios[0].startswith("| Penstock queue / RabbitMQ quorum")
    assert "**missed**" in ratios[0]
    assert "**missed**" not in ratios[-1]


def test_a_document_keeps_what_stands_outside_the_marks(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{MARK_BEGIN}\nold\n{MARK_END}\nafter\n")
    write(["new"], document)
    assert document.read_text() == f"before\n{MARK_BEGIN}\nnew\n{MARK_END}\nafter\n"
    document.write_text("no marks")
    with pytest.raises(SystemExit, match="to write between"):
        write(["new"], document)


def test_a_peer_that_is_missing_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.peers.peer.search_path", lambda: "")
    assert chosen(["penstock", "redis"]) == [ourselves.PEER]
    assert "apt-get install redis-server" in capsys.readouterr().out


def test_our_own_side_runs() -> None:
    queue = msgspec.structs.replace(ourselves.PEER, variants=ourselves.PEER.variants[:1])
    results = run([queue], messages=200, rounds=1, sizes=(100,))
    ((measured,),) = results.values()
    assert measured.rate_msgs_per_s > 0
    assert measured.cpu_us > 0
