"""A window over a segment file."""

import errno
import os
from pathlib import Path

import pytest

from penstock.store.segments.framing import (
    RECORD_HEADER_BYTES,
    checksum,
    encode_record_header,
    framed_bytes,
)
from penstock.store.segments.window import SegmentWindow

IDENTITY = 77


def write_records(path: Path, *datas: bytes) -> list[int]:
    """Records from offset 0 on; returns where they start."""
    content = b""
    starts = []
    for tick, data in enumerate(datas):
        starts.append(len(content))
        head = encode_record_header(
            len(content), len(data), 0, tick, tick + 1, checksum([data]), identity=IDENTITY
        )
        content += (head + data).ljust(framed_bytes(len(data)), b"\0")
    path.write_bytes(content)
    return starts


@pytest.mark.parametrize("window_bytes", [1, 64, 1 << 20])
def test_records_are_read_whatever_the_window(tmp_path: Path, window_bytes: int) -> None:
    path = tmp_path / "segment"
    datas = (b"a", b"b" * 100, b"")
    starts = write_records(path, *datas)
    with path.open("rb") as file:
        window = SegmentWindow(file.fileno(), IDENTITY, path.stat().st_size, window_bytes)
        for start, data in zip(starts, datas, strict=True):
            header = window.header_at(start)
            assert header is not None
            found = window.data_of(header)
            assert found is not None
            assert bytes(found) == data


def test_nothing_is_seen_behind_the_end(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    first, second = write_records(path, b"a" * 10, b"b" * 10)
    with path.open("rb") as file:
        window = SegmentWindow(file.fileno(), IDENTITY, second + RECORD_HEADER_BYTES)
        assert window.header_at(first) is not None
        assert window.header_at(second) is None
        assert window.block_at(second + RECORD_HEADER_BYTES) == b""


def test_wrong_data_is_not_given(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    write_records(path, b"a" * 10)
    content = bytearray(path.read_bytes())
    content[RECORD_HEADER_BYTES] ^= 1
    path.write_bytes(content)
    with path.open("rb") as file:
        window = SegmentWindow(file.fileno(), IDENTITY, len(content))
        header = window.header_at(0)
        assert header is not None
        assert window.data_of(header) is None


def test_a_page_that_the_disk_cannot_read_is_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"x" * 3 * 4096)
    pread = os.pread

    def failing(descriptor: int, count: int, offset: int) -> bytes:
        if offset < 8192 and offset + count > 4096:
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, count, offset)

    with path.open("rb") as file:
        monkeypatch.setattr(os, "pread", failing)
        window = SegmentWindow(file.fileno(), IDENTITY, 3 * 4096)
        assert window.block_at(0) == b"x" * 4096 + bytes(4096) + b"x" * 4096
