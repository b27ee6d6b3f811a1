"""Converts a lake of the former format, in its place: its files stay, and Delta's log names them.

    LAKE/lake.json                          the former format, 1
    LAKE/data/run=R/day=D/*.parquet         rows
    LAKE/log/00000000000000000007.json      one commit each
    LAKE/checkpoints/                       positions of streaming jobs

1. The former log is read to its end.
2. One commit of the new table adds its files, and the last batch of each query that wrote to it, so
   that the landing job continues exactly where it stopped.
3. Then the checkpoints move and the former log is deleted, ``lake.json`` last.  The log goes whole,
   by one rename: a part of it would show files that a later entry removed.  A conversion that was
   interrupted is started again, and files that the table has already are not added twice.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from penstock.spark.lake.lake import DAY, FORMAT, RUN
from penstock.spark.tables.data_file import DataFile, describe
from penstock.spark.tables.table import CHECKPOINTS, LOG, OpenTable, TableError, create_table

FORMER: Final = 1
"""The version of the format that is converted."""

FORMER_LOG: Final = "_former_log"

Document = TypeVar("Document", bound=msgspec.Struct)


class _About(msgspec.Struct, frozen=True):
    penstock_lake: int


class _File(msgspec.Struct, frozen=True):
    path: str
    run: str
    day: str


class _Commit(msgspec.Struct, frozen=True):
    """An entry of the former log, as far as it matters here."""

    added: tuple[_File, ...]
    removed: tuple[str, ...] = ()
    batches: dict[str, int] = {}
    whole: bool = False


def convert(path: Path) -> int:
    """Convert a lake; returns the number of its files.  Raises ``TableError``."""
    about = path / "lake.json"
    if not about.exists():
        raise TableError(f"{path}: there is no lake of the former format")
    if _read(about, _About).penstock_lake != FORMER:
        raise TableError(f"{path}: only lakes of format {FORMER} can be converted")
    files, batches = _former_state(path)
    table = _table(path)
    known = table.snapshot().files
    for query, batch in batches.items():
        # Each query is a transaction of its own; what they landed is added below.
        table.commit(f"converted: batches of {query}", (), batch=(query, batch))
    added = [_described(path, each) for each in files if each.path not in known]
    table.commit("converted", added)
    if (path / "checkpoints").is_dir():
        (path / "checkpoints").rename(path / CHECKPOINTS)
    if (path / "log").is_dir():
        (path / "log").rename(path / FORMER_LOG)
    for former in (FORMER_LOG, "staging"):
        shutil.rmtree(path / former, ignore_errors=True)
    about.unlink()
    return len(files)


def _table(path: Path) -> OpenTable:
    """The new table beside the former log, which is not an empty directory."""
    if not (path / LOG).exists():
        made = path / "_converting"
        shutil.rmtree(made, ignore_errors=True)
        create_table(made, FORMAT)
        (made / LOG).rename(path / LOG)
        shutil.rmtree(made)
    return OpenTable(path, FORMAT)


def _former_state(path: Path) -> tuple[list[_File], dict[str, int]]:
    """The visible files, and the last batch of each query."""
    files: dict[str, _File] = {}
    batches: dict[str, int] = {}
    for entry in sorted((path / "log").glob("*.json")):
        commit = _read(entry, _Commit)
        if commit.whole:
            files, batches = {}, {}
        for each in commit.removed:
            files.pop(each, None)
        files.update((each.path, each) for each in commit.added)
        batches.update(commit.batches)
    return list(files.values()), batches


def _described(path: Path, file: _File) -> DataFile:
    partition = {RUN: file.run, DAY: file.day}
    return describe(path / file.path, file.path, partition, FORMAT.instant)


def _read(path: Path, kind: type[Document]) -> Document:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise TableError(f"{path}: damaged: {error}; restore it from a copy") from None
