import errno
import os
from pathlib import Path

from penstock.store.files import (
    MAX_BUFFERS_A_WRITE,
    give_back_cache,
    make_directory,
    write_fully,
)


def test_more_buffers_than_one_call_takes_are_written_in_order(tmp_path: Path) -> None:
    buffers = [bytes([number % 251]) * (number % 5) for number in range(3 * MAX_BUFFERS_A_WRITE)]
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    written, error = write_fully(descriptor, buffers, 10)
    os.close(descriptor)
    content = (tmp_path / "file").read_bytes()
    assert error is None
    assert content == bytes(10) + b"".join(buffers)
    assert written == len(content) - 10


def test_views_of_wider_items_count_in_bytes(tmp_path: Path) -> None:
    view = memoryview(bytes(range(16))).cast("q")
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    assert write_fully(descriptor, [b"ab", view], 0) == (18, None)
    os.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"ab" + bytes(range(16))


def test_a_full_device_is_reported_not_raised() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    written, error = write_fully(descriptor, [b"ab"], 0)
    os.close(descriptor)
    assert written == 0
    assert error is not None
    assert error.errno == errno.ENOSPC


def test_directories_are_made_with_those_above_them(tmp_path: Path) -> None:
    make_directory(tmp_path / "a" / "b" / "c")
    make_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_what_the_kernel_forgets_is_still_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 64)
    descriptor = os.open(path, os.O_RDWR)
    os.fdatasync(descriptor)
    os.close(descriptor)
    give_back_cache(path, 0, 1 << 14)
    assert path.read_bytes() == bytes(range(256)) * 64


def test_a_file_that_has_gone_needs_no_cache(tmp_path: Path) -> None:
    give_back_cache(tmp_path / "gone", 0, 4096)
    assert not (tmp_path / "gone").exists()
