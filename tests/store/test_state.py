import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.store.interface import CorruptState
from penstock.store.state import StateDatabase, StateFailed

keys = st.sampled_from(["cursor/a", "cursor/b", "queue", "ünïcode", ""])
changes = st.lists(st.dictionaries(keys, st.none() | st.binary(max_size=9)), max_size=8)


def test_values_and_trims_are_there_after_opening_again(tmp_path: Path) -> None:
    state = StateDatabase(tmp_path / "state")
    state.change({"a": b"1", "b": b"2"}, {"prices": 17})
    state.change({"a": None, "c": b"\0"}, {"prices": 18, "trades": 1})
    state.close()
    state = StateDatabase(tmp_path / "state")
    assert state.load() == {"b": b"2", "c": b"\0"}
    assert state.trims() == {"prices": 18, "trades": 1}
    state.close()


@settings(max_examples=20, deadline=None)
@given(changes=changes)
def test_the_database_is_a_dictionary(
    changes: list[dict[str, bytes | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = StateDatabase(tmp_path_factory.mktemp("state") / "state")
    model: dict[str, bytes] = {}
    for change in changes:
        state.change(change, {})
        model |= {key: value for key, value in change.items() if value is not None}
        for key, value in change.items():
            if value is None:
                model.pop(key, None)
    assert state.load() == model
    state.close()


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    state = StateDatabase(tmp_path / "state")
    state.change({"a": b"1"}, {})
    state._connection.execute("PRAGMA max_page_count = 4")
    with pytest.raises(StateFailed, match="is full") as failure:
        state.change({"a": b"2", "b": bytes(100_000)}, {"prices": 5})
    assert failure.value.retriable
    assert (state.load(), state.trims()) == ({"a": b"1"}, {})
    state.change({"b": b"2"}, {})
    assert state.load() == {"a": b"1", "b": b"2"}
    state.close()


def test_after_a_failed_sync_the_database_refuses_until_it_is_opened_again(tmp_path: Path) -> None:
    state = StateDatabase(tmp_path / "state")
    state.change({"a": b"1"}, {})
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_symlink() and os.readlink(entry) == str(tmp_path / "state-wal"):
            device = os.open("/dev/null", os.O_RDWR)  # which takes writes and cannot sync
            os.dup2(device, int(entry.name))
            os.close(device)
    for _ in range(2):
        with pytest.raises(StateFailed, match="disk I/O error") as failure:
            state.change({"a": b"2"}, {})
        assert not failure.value.retriable
    state.close()
    state = StateDatabase(tmp_path / "state")
    assert state.load() == {"a": b"1"}
    state.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"something else" * 100)
    with pytest.raises(CorruptState, match="cannot be opened as a state database"):
        StateDatabase(tmp_path / "state")


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    StateDatabase(tmp_path / "state").close()
    connection = sqlite3.connect(tmp_path / "state")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(CorruptState, match="has format 9"):
        StateDatabase(tmp_path / "state")


def filled(path: Path) -> dict[str, bytes]:
    """A small database on one or two pages, and its values."""
    values = {f"durable/{number}": bytes([number]) * 40 for number in range(20)}
    state = StateDatabase(path)
    state.change(dict(values), {"prices": 17}, ends={"prices": 30}, lost={"prices": [(3, 5)]})
    state.close()
    return values


def test_no_byte_can_change_without_being_noticed(tmp_path: Path) -> None:
    """A database that opens says what it said; one that does not is refused with the way on."""
    path = tmp_path / "state"
    values = filled(path)
    whole = path.read_bytes()
    refusals = []
    for offset in range(0, len(whole), 7):
        content = bytearray(whole)
        content[offset] ^= 0x10
        path.write_bytes(content)
        found = contents_or_refusal(path)
        if isinstance(found, str):
            refusals.append(found)
        else:
            assert found == (values, {"prices": 17}, {"prices": 30}, {"prices": [(3, 5)]}), offset
        for leftover in tmp_path.glob("state-*"):
            leftover.unlink()
    assert len(refusals) > 100
    assert all("penstock log salvage" in each or "has format" in each for each in refusals)


def contents_or_refusal(path: Path) -> object:
    try:
        state = StateDatabase(path, must_exist=True)
    except CorruptState as error:
        return str(error)
    try:
        state.check()
        return state.load(), state.trims(), state.ends(), state.lost()
    except CorruptState as error:
        return str(error)
    finally:
        state.close()


def test_a_database_of_the_first_format_is_taken_over(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state")
    connection.executescript(
        """
        CREATE TABLE value (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE trim (log TEXT PRIMARY KEY, below INTEGER NOT NULL) WITHOUT ROWID;
        PRAGMA user_version = 1;
        INSERT INTO value VALUES ('a', x'01');
        INSERT INTO trim VALUES ('prices', 17);
        """
    )
    connection.close()
    state = StateDatabase(tmp_path / "state")
    state.check()
    assert (state.load(), state.trims()) == ({"a": b"\x01"}, {"prices": 17})
    state.close()
    state = StateDatabase(tmp_path / "state")
    assert state.load() == {"a": b"\x01"}
    state.close()
