"""The small transactional state of a store, in a SQLite database.

Two tables: named values, and for each log the tick below which it was trimmed.  All changes of one
commit are one transaction, in write-ahead mode with a sync for each transaction.  A transaction
that fails is rolled back.  After a failed sync the database refuses further changes, for the same
reason as a segment does: it is unknown what is on the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Final

from penstock.core.intervals import Tick
from penstock.store.interface import CorruptState, LogName, StoreError

SCHEMA_VERSION: Final = 1

_SCHEMA: Final = """
BEGIN;
CREATE TABLE value (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE trim (log TEXT PRIMARY KEY, below INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
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


class StateFailed(StoreError):
    """A transaction was not carried out."""

    def __init__(self, reason: str, *, retriable: bool, uncertain: bool = False) -> None:
        """``retriable``: the same may succeed later; ``uncertain``: it may have been stored."""
        super().__init__(reason)
        self.reason = reason
        self.retriable = retriable
        self.uncertain = uncertain


class StateDatabase:
    """Named values and trims; the commit thread changes them, any thread may load them."""

    def __init__(self, path: Path) -> None:
        """Open the database, or create it."""
        self._path = path
        self._lock = Lock()
        self._failed: str | None = None
        # The lock makes one connection safe to use from several threads.
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise CorruptState(
                f"{path}: cannot be opened as a state database ({error}); restore it from a copy"
            ) from error
        except CorruptState:
            self._connection.close()
            raise

    def load(self) -> dict[str, bytes]:
        """All named values."""
        with self._lock:
            return dict(self._connection.execute("SELECT key, value FROM value ORDER BY key"))

    def trims(self) -> dict[LogName, Tick]:
        """Below which tick each log was trimmed."""
        with self._lock:
            return dict(self._connection.execute("SELECT log, below FROM trim ORDER BY log"))

    def change(self, values: Mapping[str, bytes | None], trims: Mapping[LogName, Tick]) -> None:
        """Carry out one transaction, durably; None deletes a value."""
        with self._lock:
            if self._failed is not None:
                raise StateFailed(self._failed, retriable=False)
            try:
                self._transact(values, trims)
            except sqlite3.Error as error:
                raise self._failure(error) from error

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._connection.executescript(_SCHEMA)
        elif version != SCHEMA_VERSION:
            raise CorruptState(
                f"{self._path}: has format {version}; this version of Penstock reads "
                f"{SCHEMA_VERSION}"
            )

    def _transact(self, values: Mapping[str, bytes | None], trims: Mapping[LogName, Tick]) -> None:
        kept = [(key, value) for key, value in values.items() if value is not None]
        deleted = [(key,) for key, value in values.items() if value is None]
        execute_many = self._connection.executemany
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            execute_many("INSERT OR REPLACE INTO value VALUES (?, ?)", kept)
            execute_many("DELETE FROM value WHERE key = ?", deleted)
            execute_many("INSERT OR REPLACE INTO trim VALUES (?, ?)", list(trims.items()))
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
