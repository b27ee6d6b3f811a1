"""A table in the format Delta: Parquet files, and a log of commits that names the visible ones.

    TABLE/_delta_log/             the log, which the library deltalake writes
    TABLE/COLUMN=VALUE/*.parquet  rows; a file never changes
    TABLE/_staging/               files that are being written
    TABLE/_checkpoints/           positions of streaming jobs

1. A commit names the files that it adds and those that it removes, and is atomic: its log entry has
   the next number, which only one writer can get.  The other writer reads the first commit, checks
   that its own change is still valid, and tries the next number.
2. A micro-batch is committed with the name of its query and its number, as a transaction of the
   format: a batch that was committed before is not committed again, whoever repeats it.  A job that
   is killed between writing and committing leaves files that no commit names; readers ignore them.
3. Files are on the disk before the commit that names them, and a commit is when it returns.
4. A reader uses the files of one snapshot.  Files that a later commit removes stay on the disk for
   ``REMOVED_STAY_S``, so that the reader finishes with the snapshot that it began with.

Everything that reads Delta reads such a table: DuckDB, polars, Trino, Spark with Delta's connector.
All users must reach the directory under the same path.  This module does not need Spark.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec
import pyarrow as pa

from penstock.core.clock import SECOND
from penstock.spark.tables.data_file import DataFile, describe, partition_of, staged_files
from penstock.store.files import make_directory, sync_directory

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

REMOVED_STAY_S: Final = 3600.0
"""Longer than any report or micro-batch takes."""

STAGED_STAYS_S: Final = 7 * 86_400.0
"""Longer than any run takes; older files were left by a process that was killed."""

MAX_ATTEMPTS: Final = 1000
"""A writer that loses the race for a number this often has met a fault, not competition."""

LOG: Final = "_delta_log"
STAGING: Final = "_staging"
CHECKPOINTS: Final = "_checkpoints"


class TableError(RuntimeError):
    """The table cannot be used; the message names it and the remedy."""


class CommitConflict(TableError):
    """Another commit has removed the files that this one would have replaced."""


class TableFormat(msgspec.Struct, frozen=True):
    """What kind of table it is."""

    kind: str
    """The name that the table has in its log; a directory with another one is refused."""
    columns: pa.Schema
    """Those that it has at first."""
    partition_by: tuple[str, ...]
    instant: str
    """The column of integers by which rows are dated."""


class Snapshot:
    """The table as of one commit."""

    def __init__(self, table: DeltaTable, instant: str) -> None:
        self._table = table
        self._instant = instant
        self.version = table.version()
        self.files: dict[str, DataFile] = {
            file.path: file for file in map(self._file, self._listed())
        }

    def _listed(self) -> list[dict[str, Any]]:
        actions = pa.table(self._table.get_add_actions(flatten=True))
        listed: list[dict[str, Any]] = actions.to_pylist()
        return listed

    def _file(self, listed: Mapping[str, Any]) -> DataFile:
        values = {
            name.removeprefix("partition."): str(value)
            for name, value in listed.items()
            if name.startswith("partition.")
        }
        return DataFile(
            unquote(listed["path"]),
            values,
            listed.get("num_records") or 0,
            listed["size_bytes"],
            listed.get(f"min.{self._instant}") or 0,
            listed.get(f"max.{self._instant}") or 0,
        )

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(file.rows for file in self.files.values())

    @property
    def columns(self) -> pa.Schema:
        """The columns of the table."""
        return pa.schema(self._table.schema())

    @property
    def delta(self) -> DeltaTable:
        """The snapshot as the library has it."""
        return self._table

    def last_batch(self, query: str) -> int:
        """The number of the last committed micro-batch of a query; -1 if there is none."""
        found = self._table.transaction_version(query)
        return -1 if found is None else found


def nothing(snapshot: Snapshot) -> Iterable[str]:
    """Removes no files."""
    return ()


class OpenTable:
    """An existing table.  Created by ``open_table`` or ``create_table``."""

    def __init__(self, path: Path, form: TableFormat) -> None:
        self.path = path
        self.form = form

    # -- reading ----------------------------------------------------------------------------

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The current snapshot, or an earlier one."""
        return Snapshot(self._delta(version), self.form.instant)

    def _delta(self, version: int | None = None) -> DeltaTable:
        from deltalake import DeltaTable

        return DeltaTable(self.path, version=version)

    # -- writing ----------------------------------------------------------------------------

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A directory to write the partitions' folders into; deleted with its content on exit."""
        directory = self.path / STAGING / uuid.uuid4().hex
        directory.mkdir(parents=True)
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def adopt(self, staged: Path, named: Container[str] | None = None) -> list[DataFile]:
        """Move staged files to their place, durably; they become visible with a commit.

        ``named`` are those to move, relative to the directory; without it all are.
        """
        adopted: list[DataFile] = []
        for source, relative in staged_files(staged, self.form.partition_by):
            if named is not None and str(source.relative_to(staged)) not in named:
                continue
            folder = self.path / relative
            make_directory(folder)
            target = folder / f"{uuid.uuid4().hex}.parquet"
            called = str(target.relative_to(self.path))
            described = describe(source, called, partition_of(relative), self.form.instant)
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
        removing: Callable[[Snapshot], Iterable[str]] = nothing,
        batch: tuple[str, int] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> Snapshot | None:
        """Add and remove files; None if the batch is in the table already.

        ``removing`` chooses the files to remove from the snapshot that the commit follows, and
        ``notes`` are kept in the log.  Raises ``CommitConflict`` if a file to be removed is gone.
        """
        from deltalake.exceptions import CommitFailedError

        files = tuple(added)
        for _ in range(MAX_ATTEMPTS):
            before = self.snapshot()
            if batch is not None and before.last_batch(batch[0]) >= batch[1]:
                return None
            gone = list(removing(before))
            if missing := [path for path in gone if path not in before.files]:
                raise CommitConflict(
                    f"{self.path}: another commit has removed {missing[0]}; try again"
                )
            if not files and not gone and batch is None:
                return before
            properties = _properties(what, batch, notes or {})
            try:
                self._write(before, files, gone, properties)
            except CommitFailedError:
                # Another writer got the number.
                continue
            self._sync_log(before.version + 1)
            return self.snapshot()
        raise TableError(f"{self.path}: other writers commit continuously; try again later")

    def _write(
        self,
        before: Snapshot,
        added: Iterable[DataFile],
        gone: Iterable[str],
        properties: CommitProperties,
    ) -> None:
        from deltalake.transaction import AddAction, RemoveAction

        now_ms = time.time_ns() * 1000 // SECOND
        adding = [
            AddAction(each.path, each.size_bytes, each.partition, now_ms, True, each.stats)
            for each in added
        ]
        removing = [
            RemoveAction(
                path,
                True,
                now_ms,
                before.files[path].size_bytes,
                dict(before.files[path].partition),
            )
            for path in gone
        ]
        before.delta.create_write_transaction(
            [*adding, *removing],
            "append",
            before.delta.schema(),
            list(self.form.partition_by),
            commit_properties=properties,
        )

    def add_columns(self, fields: Iterable[pa.Field]) -> None:
        """Add columns, which are null in all rows that the table has."""
        from deltalake import Schema

        added = pa.schema(fields)
        if added.names:
            self._delta().alter.add_columns(Schema.from_arrow(added).fields)

    def _sync_log(self, version: int) -> None:
        """The library leaves the entry to the operating system; a power failure could undo it."""
        _sync_file(self.path / LOG / f"{version:020}.json")
        sync_directory(self.path / LOG)

    def drop(self, what: str, chooses: Callable[[DataFile], bool]) -> list[DataFile]:
        """Remove the files that are chosen, in one commit; returns them.

        They are deleted when no reader can still have them open (``remove_unused``).
        """
        chosen: list[DataFile] = []

        def removing(snapshot: Snapshot) -> list[str]:
            chosen[:] = filter(chooses, snapshot.files.values())
            return [file.path for file in chosen]

        self.commit(what, (), removing=removing)
        return chosen

    def merge_small_files(self, small_bytes: int) -> dict[str, Any]:
        """Merge the files of each partition that are smaller; returns the library's figures.

        Raises ``CommitConflict`` if another process has removed one of them meanwhile.
        """
        from deltalake.exceptions import CommitFailedError

        try:
            done: dict[str, Any] = self._delta().optimize.compact(target_size=small_bytes)
        except CommitFailedError as error:
            raise CommitConflict(f"{self.path}: {error}; try again") from None
        return done

    def remove_unused(self, *, older_than_s: float = REMOVED_STAY_S) -> int:
        """Delete old files that no commit names; returns the number of data files."""
        removed = self._delta().vacuum(
            retention_hours=0 if older_than_s <= 0 else max(1, round(older_than_s / 3600)),
            dry_run=False,
            enforce_retention_duration=False,
            full=True,
        )
        staging = self.path / STAGING
        for directory in staging.iterdir() if staging.is_dir() else ():
            if _is_older(directory, STAGED_STAYS_S):
                shutil.rmtree(directory, ignore_errors=True)
        return len(removed)


def create_table(path: Path, form: TableFormat, description: str = "") -> OpenTable:
    """The table in a directory, which is created if it is missing or empty."""
    need_deltalake()
    if not (path / LOG).exists():
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise TableError(f"{path}: the directory is not empty and no table; name another one")
        from deltalake import DeltaTable

        make_directory(path)
        DeltaTable.create(
            path,
            form.columns,
            mode="ignore",
            partition_by=list(form.partition_by),
            name=form.kind,
            description=description,
            configuration={"delta.deletedFileRetentionDuration": "interval 1 hours"},
        )
        sync_directory(path)
    return open_table(path, form)


def open_table(path: Path, form: TableFormat) -> OpenTable:
    """An existing table; raises ``TableError`` if there is none, or one of another kind."""
    need_deltalake()
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if not (path / LOG).is_dir():
        raise TableError(f"{path}: there is no table")
    try:
        found = DeltaTable(path).metadata()
    except (DeltaError, OSError) as error:
        raise TableError(
            f"{path}: the table's log cannot be read: {' '.join(str(error).split())}"
        ) from None
    if found.name != form.kind:
        raise TableError(
            f"{path}: the table there is {found.name or 'without a name'!r} and no {form.kind!r}; "
            "name another directory"
        )
    return OpenTable(path, form)


def need_deltalake() -> None:
    """Raise ``TableError`` with the remedy if the library is not installed."""
    try:
        import deltalake  # noqa: F401
    except ModuleNotFoundError:
        raise TableError(
            "tables need the library deltalake: pip install 'penstock[spark]'"
        ) from None


def _properties(
    what: str, batch: tuple[str, int] | None, notes: Mapping[str, str]
) -> CommitProperties:
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata={"penstock": what, **notes},
        app_transactions=[Transaction(*batch)] if batch is not None else None,
        max_commit_retries=0,
    )


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_older(path: Path, than_s: float) -> bool:
    """Whether a file has been unchanged for this long; False if it is gone."""
    try:
        return path.stat().st_ctime < time.time() - than_s
    except FileNotFoundError:
        return False
