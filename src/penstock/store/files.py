"""Writing to files so that it lasts.

A file's bytes are on stable storage after ``fdatasync``; its name is on stable storage only after
its directory has been synced as well.  A write may stop short; what was written until then counts,
because the log keeps the whole records among it.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock.store.segments.framing import Chunk

logger = logging.getLogger(__name__)

MAX_BUFFERS_A_WRITE: Final = 1024  # IOV_MAX of Linux; more in one pwritev is refused

PRIVATE_DIRECTORY: Final = 0o700
PRIVATE_FILE: Final = 0o600
"""What a broker stores is its users' messages: nobody else on the machine may read it."""

NO_SPACE_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk is full, or this user's share of it, or the largest size that a file may have."""


def write_fully(
    descriptor: int, buffers: Sequence[Chunk], offset: int
) -> tuple[int, OSError | None]:
    """Write buffers one behind the other; how many bytes were written, and why not all."""
    written = 0
    for first in range(0, len(buffers), MAX_BUFFERS_A_WRITE):
        batch = list(buffers[first : first + MAX_BUFFERS_A_WRITE])
        while batch:
            try:
                count = os.pwritev(descriptor, batch, offset + written)
            except OSError as error:
                return written, error
            written += count
            # Nearly always all was written, and nearly always of plain bytes: see that quickly.
            batch = [] if count == sum(map(len, batch)) else _behind(batch, count)
    return written, None


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path, mode: int = 0o777) -> None:
    """Create a directory and those above it, where they are missing, with durable names.

    ``mode`` is for the directory itself; those above it are as the user's mask says.
    """
    if not directory.is_dir():
        make_directory(directory.parent)
        directory.mkdir(mode)
        sync_directory(directory.parent)


def make_private(directory: Path) -> None:
    """Create a directory that other users cannot look into, or make it one.

    What it holds is private with it, whatever the modes inside are.
    """
    make_directory(directory, PRIVATE_DIRECTORY)
    mode = stat.S_IMODE(directory.stat().st_mode)
    if not mode & ~PRIVATE_DIRECTORY:
        return
    try:
        directory.chmod(PRIVATE_DIRECTORY)
    except OSError as error:
        logger.warning(
            "%s can be read by other users (mode %o), and that cannot be changed: %s",
            directory,
            mode,
            error,
        )
    else:
        logger.warning(
            "%s could be read by other users (mode %o); its mode is %o now",
            directory,
            mode,
            PRIVATE_DIRECTORY,
        )


def give_back_cache(path: Path, start: int, stop: int) -> None:
    """Let the kernel forget what it holds of a file; only what was synced is forgotten.

    The file may be trimmed meanwhile, no descriptor may be left, a file system may not know how: a
    piece of advice is worth no failure.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, start, stop - start, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _behind(buffers: list[Chunk], count: int) -> list[Chunk]:
    """What is left of buffers after the first ``count`` bytes."""
    for position, buffer in enumerate(buffers):
        size = buffer.nbytes if isinstance(buffer, memoryview) else len(buffer)
        if count < size:
            return [memoryview(buffer).cast("B")[count:], *buffers[position + 1 :]]
        count -= size
    return []
