"""The telemetry lake: Parquet files, and a log of commits that names the visible ones.

    LAKE/lake.json                          the lake's format
    LAKE/data/run=R/day=D/*.parquet         rows; a file never changes
    LAKE/log/00000000000000000007.json      one commit each
    LAKE/staging/                           files that are being written
    LAKE/checkpoints/                       positions of streaming jobs

1. A commit names the files that it adds and those that it removes, and is atomic: its log entry is
   linked to the next number, which only one writer can get.  The other writer reads the first
   commit, checks that its own change is still valid, and tries the next number.
2. A reader uses the files of one snapshot.  Files that a later commit removes stay on the disk for
   ``REMOVED_STAY_S``, so that the reader finishes with the snapshot that it began with: it sees no
   row twice and misses none, whatever is compacted meanwhile.
3. A micro-batch is committed with the name of its query and its number; a batch that was committed
   before is not committed again.  A job that is killed between writing and committing leaves files
   that no commit names; readers ignore them, and they are deleted when they are old.
4. Every ``WHOLE_EVERY`` commits an entry states the complete snapshot, and the entries before the
   previous complete one are deleted: the log stays short however long the lake lives.

All users of the lake must reach its directory under the same path: a local disk, or a file system
that the machines of a cluster share.  This module does not need Spark.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.store.files import make_directory, sync_directory

FORMAT: Final = 1
"""The layout that this module reads and writes."""

WHOLE_EVERY: Final = 32
"""The largest number of entries that are read to open the lake: a few milliseconds."""

REMOVED_STAY_S: Final = 3600.0
"""Longer than any report or micro-batch takes."""

STAGED_STAYS_S: Final = 7 * 86_400.0
"""Longer than any run takes; older files were left by a process that was killed."""

MAX_ATTEMPTS: Final = 1000
"""A writer that loses the race for a number this often has met a fault, not competition."""

Document = TypeVar("Document", bound=msgspec.Struct)


class LakeError(RuntimeError):
    """The lake cannot be used; the message names it and the remedy."""


class CommitConflict(LakeError):
    """Another commit has removed the files that this one would have replaced."""


class _Incomplete(Exception):
    """The list of log entries has a gap."""


class About(msgspec.Struct, frozen=True):
    """The content of ``lake.json``."""

    penstock_lake: int


class DataFile(msgspec.Struct, frozen=True):
    """One visible Parquet file."""

    path: str
    """Relative to the lake's directory."""
    run: str
    day: str
    rows: int
    size_bytes: int
    low_ns: int
    high_ns: int
    """The earliest and the latest instant of its rows."""


class Commit(msgspec.Struct, frozen=True):
    """One entry of the log."""

    version: int
    what: str
    """The operation, for people: "landed", "compacted", …"""
    added: tuple[DataFile, ...]
    removed: tuple[str, ...] = ()
    batches: dict[str, int] = {}
    """The number of the last committed micro-batch of each streaming query."""
    whole: bool = False
    """Whether this entry states the complete snapshot, independent of earlier ones."""


class Snapshot(msgspec.Struct, frozen=True):
    """The lake as of one commit."""

    version: int
    files: dict[str, DataFile]
    batches: dict[str, int]

    def runs(self) -> list[str]:
        """The runs that have rows, sorted."""
        return sorted({file.run for file in self.files.values()})

    def of_runs(self, runs: Iterable[str]) -> list[DataFile]:
        """The files of some runs."""
        wanted = frozenset(runs)
        return [file for file in self.files.values() if file.run in wanted]

    @property
    def rows(self) -> int:
        """The number of rows in the lake."""
        return sum(file.rows for file in self.files.values())

    def after(self, commit: Commit) -> Snapshot:
        """The snapshot after a commit."""
        files = {} if commit.whole else dict(self.files)
        for path in commit.removed:
            files.pop(path, None)
        files.update((file.path, file) for file in commit.added)
        batches = commit.batches if commit.whole else {**self.batches, **commit.batches}
        return Snapshot(commit.version, files, batches)


EMPTY: Final = Snapshot(0, {}, {})


class Lake:
    """An existing lake.  Created by ``open_lake`` or ``create_lake``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self._log = path / "log"

    # -- reading ----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The current snapshot."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return self._read_log()
            except (FileNotFoundError, _Incomplete):
                # Commits were added while the directory was listed, or old entries were deleted.
                continue
        raise LakeError(f"{self.path}: its log changes faster than it can be read; try again")

    def _read_log(self) -> Snapshot:
        state = EMPTY
        for commit in self._commits_since_whole():
            state = state.after(commit)
        return state

    def _commits_since_whole(self) -> list[Commit]:
        """The commits from the last complete one on, oldest first."""
        found: list[Commit] = []
        for version in sorted(self._versions(), reverse=True):
            if found and version != found[-1].version - 1:
                break
            found.append(_read(self._entry(version), Commit))
            if found[-1].whole or version == 1:
                return found[::-1]
        if found:
            raise _Incomplete
        return []

    def _versions(self) -> list[int]:
        return [int(path.stem) for path in self._log.glob("*.json")]

    def _entry(self, version: int) -> Path:
        return self._log / f"{version:020}.json"

    # -- writing ----------------------------------------------------------------------------

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A directory to write ``run=R/day=D`` folders into; deleted with its content on exit."""
        directory = self.path / "staging" / uuid.uuid4().hex
        directory.mkdir(parents=True)
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def adopt(self, staged: Path) -> list[DataFile]:
        """Move staged files to their place, durably; they become visible with a commit."""
        adopted: list[DataFile] = []
        for source in sorted(staged.glob("run=*/day=*/*.parquet")):
            folder = self.data / source.parent.relative_to(staged)
            make_directory(folder)
            target = folder / f"{uuid.uuid4().hex}.parquet"
            described = _describe(source, str(target.relative_to(self.path)))
            if not described.rows:
                continue
            _sync_file(source)
            source.rename(target)
            sync_directory(folder)
            adopted.append(described)
        return adopted

    def commit(
        self,
        what: str,
        added: Iterable[DataFile],
        *,
        removed: Iterable[str] = (),
        replacing: Iterable[str] = (),
        batch: tuple[str, int] | None = None,
    ) -> Snapshot | None:
        """Add and remove files; None if the batch is in the lake already.

        All earlier files of the runs in ``replacing`` are removed.  Raises ``CommitConflict`` if a
        file to be removed is gone.
        """
        files, named, replaced = tuple(added), tuple(removed), tuple(replacing)
        for _ in range(MAX_ATTEMPTS):
            before = self.snapshot()
            gone = (*named, *(file.path for file in before.of_runs(replaced)))
            if batch is not None and before.batches.get(batch[0], -1) >= batch[1]:
                return None
            if missing := [path for path in gone if path not in before.files]:
                raise CommitConflict(
                    f"{self.path}: another commit has removed {missing[0]}; try again"
                )
            for path in gone:
                # The time until the deletion of an unused file starts now.
                os.utime(self.path / path)
            batches = dict([batch]) if batch is not None else {}
            commit = Commit(before.version + 1, what, files, gone, batches)
            after = before.after(commit)
            if commit.version % WHOLE_EVERY == 0:
                everything = tuple(after.files.values())
                commit = Commit(commit.version, what, everything, (), after.batches, whole=True)
            if self._append(commit):
                if commit.whole:
                    self._forget_below(commit.version - WHOLE_EVERY)
                return after
        raise LakeError(f"{self.path}: other writers commit continuously; try again later")

    def _append(self, commit: Commit) -> bool:
        """Write an entry under its number; False if another writer got the number."""
        unfinished = self._log / f"{uuid.uuid4().hex}.writing"
        with unfinished.open("wb") as file:
            file.write(msgspec.json.encode(commit))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(unfinished, self._entry(commit.version))
        except FileExistsError:
            return False
        finally:
            unfinished.unlink()
        sync_directory(self._log)
        return True

    def _forget_below(self, version: int) -> None:
        for each in self._versions():
            if each < version:
                self._entry(each).unlink(missing_ok=True)

    def remove_unused(self, *, older_than_s: float = REMOVED_STAY_S) -> int:
        """Delete old files that no commit names; returns the number of data files."""
        used = self.snapshot().files
        count = 0
        for path in self.data.glob("run=*/day=*/*.parquet"):
            unused = str(path.relative_to(self.path)) not in used
            if unused and _is_older(path, older_than_s):
                path.unlink(missing_ok=True)
                count += 1
        for directory in (self.path / "staging").iterdir():
            if _is_older(directory, STAGED_STAYS_S):
                shutil.rmtree(directory, ignore_errors=True)
        return count


def create_lake(path: Path) -> Lake:
    """The lake in a directory, which is created if it is missing or empty."""
    about = path / "lake.json"
    if not about.exists():
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise LakeError(f"{path}: the directory is not empty and no lake; name another one")
        for part in ("data", "log", "staging", "checkpoints"):
            make_directory(path / part)
        about.write_bytes(msgspec.json.encode(About(FORMAT)))
        sync_directory(path)
    return open_lake(path)


def open_lake(path: Path) -> Lake:
    """An existing lake; raises ``LakeError`` if there is none."""
    try:
        about = _read(path / "lake.json", About)
    except (FileNotFoundError, NotADirectoryError):
        raise LakeError(
            f"{path}: there is no lake; `penstock lake --path {path}` or "
            f"`penstock run SCENARIO --lake {path}` creates one"
        ) from None
    if about.penstock_lake != FORMAT:
        raise LakeError(
            f"{path}: the lake has format {about.penstock_lake}, this version supports {FORMAT}; "
            "use the version of Penstock that created it"
        )
    return Lake(path)


def chosen_runs(lake: Lake, snapshot: Snapshot, wanted: Iterable[str]) -> list[str]:
    """The named runs; raises ``LakeError`` for one that does not exist."""
    known = snapshot.runs()
    runs = list(dict.fromkeys(wanted))
    for run in runs:
        if run not in known:
            there = ", ".join(known[:MAX_NAMED_RUNS]) or "none"
            more = f" and {len(known) - MAX_NAMED_RUNS} more" if len(known) > MAX_NAMED_RUNS else ""
            raise LakeError(f"{lake.path}: there is no run {run!r}; there are: {there}{more}")
    return runs


MAX_NAMED_RUNS: Final = 20
"""How many runs an error lists."""


def _read(path: Path, kind: type[Document]) -> Document:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise LakeError(f"{path}: damaged: {error}; restore it from a copy") from None


def _describe(path: Path, called: str) -> DataFile:
    """The file's entry, from its own footer."""
    run, day = path.parent.parent.name, path.parent.name
    footer = pq.read_metadata(path)
    column = footer.schema.to_arrow_schema().get_field_index("at_ns")
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    bounds = [_bounds(group, column) for group in groups if group.num_rows]
    return DataFile(
        called,
        unquote(run.removeprefix("run=")),
        unquote(day.removeprefix("day=")),
        footer.num_rows,
        path.stat().st_size,
        min((low for low, _ in bounds), default=0),
        max((high for _, high in bounds), default=0),
    )


def _bounds(group: pa.RowGroupMetaData, column: int) -> tuple[int, int]:
    statistics = group.column(column).statistics
    return statistics.min, statistics.max


def _is_older(path: Path, than_s: float) -> bool:
    """Whether a file has been unchanged for this long; False if it is gone."""
    try:
        return path.stat().st_ctime < time.time() - than_s
    except FileNotFoundError:
        return False


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def files_by_partition(files: Iterable[DataFile]) -> Mapping[tuple[str, str], list[DataFile]]:
    """The files of each run and day."""
    found: dict[tuple[str, str], list[DataFile]] = {}
    for file in files:
        found.setdefault((file.run, file.day), []).append(file)
    return found
