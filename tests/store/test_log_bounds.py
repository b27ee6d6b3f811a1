from __future__ import annotations

from penstock.store.faulty import MemoryStore
from penstock.store.log_bounds import recovered_logs


def test_a_log_begins_with_its_first_record() -> None:
    store = MemoryStore(len)
    store.append(1, "a", 100, 110, b"x")
    store.append(2, "a", 110, 120, b"yy")
    store.sync()
    assert recovered_logs(store)["a"][:2] == (100, 120)


def test_a_log_that_was_trimmed_begins_where_it_was_trimmed() -> None:
    store = MemoryStore(len)
    store.append(1, "a", 100, 110, b"x")
    store.append(2, "a", 110, 120, b"yy")
    store.sync()
    store.trim("a", 110)
    assert recovered_logs(store)["a"][:2] == (110, 120)


def test_a_log_without_a_durable_record_is_left_out() -> None:
    store = MemoryStore(len)
    store.append(1, "a", 100, 110, b"x")
    assert recovered_logs(store) == {}
