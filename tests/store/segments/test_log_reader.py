"""Readers of a log that changes under them."""

from pathlib import Path
from typing import Any

import pytest

from penstock.store.segments import log_reader

KILOBYTE = bytes(1024)


def fill(log: Any, record: Any, ticks: range) -> None:
    """One commit for each tick, of one record of a kilobyte."""
    for tick in ticks:
        assert log.commit([record(tick, KILOBYTE)]) == []


def test_a_reader_whose_segment_is_recycled_starts_again(
    tmp_path: Path, log_directory: Any, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader has chosen its segment and opened the file when the trim overtakes it."""
    log = log_directory(tmp_path, segment_bytes=8192).open()
    fill(log, record, range(20))
    open_part = log_reader.open_part
    attempts = 0

    def overtaken(*arguments: Any) -> Any:
        nonlocal attempts
        part = open_part(*arguments)
        attempts += 1
        if attempts == 1:
            log.trim(10)
            log.drop_trimmed()
            fill(log, record, range(20, 30))
        return part

    monkeypatch.setattr(log_reader, "open_part", overtaken)
    part = log.read(0, 20, 10**6)
    assert attempts > 1
    assert [found.low for found in part.records] == list(range(10, 20))
    assert part.complete_from == 10
    log.close()


def test_an_older_segment_is_indexed_when_it_is_first_read(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    fill(log, record, range(20))
    log.close()
    again = at.open()
    assert [tick for tick, _ in everything(again)] == list(range(20))
    assert [found.low for found in again.read(3, 5, 10**6).records] == [3, 4]
    again.close()
