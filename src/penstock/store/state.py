"""The small transactional state of a store, in a SQLite database.

1. One table of entries, of several kinds: the named values; and for each log the tick below which
   it was trimmed, the end that it is known to have reached, and the intervals of it that are lost.
   One more entry says that the store was closed in order, and when.
2. Every entry has a checksum of its kind, key and value.  All are checked when the database is
   opened, and a database of which anything is damaged is refused: a broker that went on with
   another position or another table of producers would lose or repeat messages silently.
3. All changes of one commit are one transaction, in write-ahead mode with a sync for each
   transaction.  A transaction that fails is rolled back.  After a failed sync the database refuses
   further changes, for the same reason as a segment does: it is unknown what is on the disk.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
import xxhash

from penstock.core.clock import Instant
from penstock.core.intervals import Interval, Tick
from penstock.store.files import PRIVATE_FILE, sync_directory
from penstock.store.interface import CorruptState, LogName, StoreError

SCHEMA_VERSION: Final = 2

VALUE: Final = "value"
TRIM: Final = "trim"
END: Final = "end"
LOST: Final = "lost"
CLOSED: Final = "closed"

_SCHEMA: Final = """
BEGIN;
CREATE TABLE entry (
    kind TEXT, key TEXT, value BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
PRAGMA user_version = 2;
COMMIT;
"""

_PERMANENT_ERRORS: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_DIR_FSYNC,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    }
)

_INSERT: Final = "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM entry WHERE kind = ? AND key = ?"

WAY_ON: Final = (
    "restore the file from a copy, or go on without what is damaged: penstock log salvage "
    "(docs/how-to/mend-a-damaged-log.md)"
)


WITHOUT_STATE: Final = (
    "restore it from a copy, or go on without it: penstock log salvage --new-state "
    "(docs/how-to/mend-a-damaged-log.md)"
)


class StateFailed(StoreError):
    """A transaction was not carried out."""

    def __init__(self, reason: str, *, retriable: bool, uncertain: bool = False) -> None:
        """``retriable``: the same may succeed later; ``uncertain``: it may have been stored."""
        super().__init__(reason)
        self.reason = reason
        self.retriable = retriable
        self.uncertain = uncertain


class StateDatabase:
    """The state of a store; the commit thread changes it, any thread may load from it."""

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        """Open the database, or create it unless it ``must_exist`` because there are logs."""
        self._path = path
        self._lock = Lock()
        self._failed: str | None = None
        if must_exist and (not path.exists() or not path.stat().st_size):
            raise CorruptState(
                f"{path} is missing or empty, although there are logs; it says how far durable "
                f"subscriptions have come and which messages are repeats; {WITHOUT_STATE}"
            )
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
            sync_directory(path.parent)
        # The lock makes one connection safe to use from several threads.
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise CorruptState(
                f"{path}: cannot be opened as a state database ({error}); {WITHOUT_STATE}"
            ) from error
        except CorruptState:
            self._connection.close()
            raise

    def load(self) -> dict[str, bytes]:
        """All named values."""
        return dict(self._entries(VALUE))

    def trims(self) -> dict[LogName, Tick]:
        """Below which tick each log was trimmed."""
        return {log: _integer(value) for log, value in self._entries(TRIM)}

    def ends(self) -> dict[LogName, Tick]:
        """Up to where each log was durable when that was last written down."""
        return {log: _integer(value) for log, value in self._entries(END)}

    def lost(self) -> dict[LogName, list[Interval]]:
        """What is known to be lost of each log, and is not to be seen from the log itself."""
        return {log: _intervals(value) for log, value in self._entries(LOST)}

    def closed_at(self) -> Instant | None:
        """When the store was closed in order, if it was."""
        return next((_integer(value) for _, value in self._entries(CLOSED)), None)

    def damaged(self) -> list[tuple[str, str]]:
        """The entries whose checksum is wrong, as (kind, key)."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT kind, key, value, checksum FROM entry"
            ).fetchall()
        return [
            (_text(kind), _text(key))
            for kind, key, value, found in rows
            if not isinstance(value, bytes) or _checksum(kind, key, value) != found
        ]

    def change(
        self,
        values: Mapping[str, bytes | None],
        trims: Mapping[LogName, Tick],
        *,
        ends: Mapping[LogName, Tick] | None = None,
        lost: Mapping[LogName, Sequence[Interval]] | None = None,
    ) -> None:
        """Carry out one transaction, durably; None deletes a value, no interval a log's losses."""
        changed: list[tuple[str, str, bytes | None]] = [
            (VALUE, key, value) for key, value in values.items()
        ]
        changed += [(TRIM, log, _encode(below)) for log, below in trims.items()]
        changed += [(END, log, _encode(high)) for log, high in (ends or {}).items()]
        changed += [
            (LOST, log, _encode(list(intervals)) if intervals else None)
            for log, intervals in (lost or {}).items()
        ]
        self._carry_out(changed)

    def mark_closed(self, at: Instant | None) -> None:
        """Write down that the store is closed in order, or (None) that it is in use."""
        self._carry_out([(CLOSED, "", None if at is None else _encode(at))])

    def drop(self, entries: Sequence[tuple[str, str]]) -> None:
        """Delete entries, whatever they are."""
        self._carry_out([(kind, key, None) for kind, key in entries])

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._connection.close()

    def _entries(self, kind: str) -> Iterator[tuple[str, bytes]]:
        with self._lock:
            yield from self._connection.execute(
                "SELECT key, value FROM entry WHERE kind = ? ORDER BY key", (kind,)
            ).fetchall()

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._connection.executescript(_SCHEMA)
        elif version == 1:
            self._add_checksums()
        elif version != SCHEMA_VERSION:
            raise CorruptState(
                f"{self._path}: has format {version}; this version of Penstock reads "
                f"{SCHEMA_VERSION}"
            )

    def check(self) -> None:
        """Raise ``CorruptState`` if anything is damaged, and name it."""
        try:
            (verdict,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            damaged = self.damaged()
        except sqlite3.DatabaseError as error:
            raise CorruptState(f"{self._path}: is damaged ({error}); {WITHOUT_STATE}") from error
        if damaged:
            named = ", ".join(f"{kind} {key!r}" for kind, key in damaged)
            raise CorruptState(f"{self._path}: the checksum of {named} is wrong; {WAY_ON}")
        if verdict != "ok":
            raise CorruptState(
                f"{self._path}: is damaged ({' '.join(verdict.split())}); {WITHOUT_STATE}"
            )

    def _add_checksums(self) -> None:
        """Take over the two tables of the first format, which had none."""
        values = self._connection.execute("SELECT key, value FROM value").fetchall()
        trims = self._connection.execute("SELECT log, below FROM trim").fetchall()
        rows = [_row(VALUE, key, value) for key, value in values]
        rows += [_row(TRIM, log, _encode(below)) for log, below in trims]
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute(
                "CREATE TABLE entry (kind TEXT, key TEXT, value BLOB NOT NULL, "
                "checksum INTEGER NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID"
            )
            self._connection.executemany(_INSERT, rows)
            self._connection.execute("DROP TABLE value")
            self._connection.execute("DROP TABLE trim")
            self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _carry_out(self, changed: Sequence[tuple[str, str, bytes | None]]) -> None:
        with self._lock:
            if self._failed is not None:
                raise StateFailed(self._failed, retriable=False)
            try:
                self._transact(changed)
            except sqlite3.Error as error:
                raise self._failure(error) from error

    def _transact(self, changed: Sequence[tuple[str, str, bytes | None]]) -> None:
        kept = [_row(kind, key, value) for kind, key, value in changed if value is not None]
        deleted = [(kind, key) for kind, key, value in changed if value is None]
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(_INSERT, kept)
            self._connection.executemany(_DELETE, deleted)
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _failure(self, error: sqlite3.Error) -> StateFailed:
        code = getattr(error, "sqlite_errorcode", None)
        retriable = code not in _PERMANENT_ERRORS
        reason = f"state {self._path}: {error}"
        failure = StateFailed(reason, retriable=retriable, uncertain=not retriable)
        if not retriable:
            self._failed = (
                f"{reason}; nothing more is stored there until the broker is started again"
            )
        return failure


def _row(kind: str, key: str, value: bytes) -> tuple[str, str, bytes, int]:
    return kind, key, value, _checksum(kind, key, value)


def _checksum(kind: object, key: object, value: bytes) -> int:
    """A checksum in the range of SQLite's integers."""
    digest = xxhash.xxh3_64(f"{_text(kind)}\0{_text(key)}\0".encode())
    digest.update(value)
    return digest.intdigest() - 2**63


def _text(found: object) -> str:
    """What stands in a column, which damage can make anything."""
    return found if isinstance(found, str) else repr(found)


def _encode(value: int | list[Interval]) -> bytes:
    return msgspec.msgpack.encode(value)


def _integer(value: bytes) -> int:
    return msgspec.msgpack.decode(value, type=int)


def _intervals(value: bytes) -> list[Interval]:
    return msgspec.msgpack.decode(value, type=list[tuple[int, int]])
