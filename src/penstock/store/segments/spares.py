"""Trimmed segment files that wait to be used again.

Writing into blocks that a file has owned and filled before needs no work on the file system's
metadata, so a recycled file syncs faster than a new one.  The pool keeps at most ``limit`` files of
exactly the size of a segment; all others are deleted.  A file's old content needs no wiping: its
records carry another identity (``framing``).
"""

from __future__ import annotations

from pathlib import Path

from penstock.store.files import PRIVATE_DIRECTORY, make_directory


class SparePool:
    """The spare files of a store; used by the commit thread alone."""

    def __init__(self, directory: Path, *, segment_bytes: int, limit: int) -> None:
        """Take over what an earlier run left, and delete what does not fit any more."""
        make_directory(directory, PRIVATE_DIRECTORY)
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._limit = limit
        self._spares: list[Path] = []
        self._next_number = 0
        for path in sorted(directory.iterdir()):
            if self._has_place_for(path):
                self._spares.append(path)
            else:
                path.unlink()

    def __len__(self) -> int:
        """How many files are waiting."""
        return len(self._spares)

    def give(self, path: Path) -> None:
        """Take a file that nobody needs: keep it if there is a place for it, delete it if not."""
        if not self._has_place_for(path):
            path.unlink()
            return
        while (spare := self._directory / f"{self._next_number}.spare").exists():
            self._next_number += 1
        path.rename(spare)
        self._spares.append(spare)

    def take(self, target: Path) -> bool:
        """Move a spare file to a path; False if there is none."""
        if not self._spares:
            return False
        self._spares.pop().rename(target)
        return True

    def clear(self) -> bool:
        """Delete all spare files, because the disk is full; whether there were any."""
        freed = bool(self._spares)
        while self._spares:
            self._spares.pop().unlink()
        return freed

    def _has_place_for(self, path: Path) -> bool:
        return len(self._spares) < self._limit and path.stat().st_size == self._segment_bytes
