"""The commit thread, seen through the store that owns it."""

import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import Commit, StoreClosed, StoreOverloaded

SMALL = StoreOptions(segment_bytes=1 << 20)


class HeldStore:
    """A store whose commit thread is held in its first report until it is let go."""

    def __init__(self, directory: Path, outcomes: Any, options: StoreOptions = SMALL) -> None:
        self.outcomes = outcomes
        self._held = Event()
        self._let_go = Event()
        self.store = DiskStore(directory, self._on_commit, options)
        self.store.append(0, "first", 0, 1, [b""])
        self._held.wait()

    def _on_commit(self, commit: Commit) -> None:
        self.outcomes(commit)
        self._held.set()
        self._let_go.wait()

    def let_go(self) -> None:
        self._let_go.set()


def test_what_arrives_during_a_commit_shares_the_next_one(tmp_path: Path, outcomes: Any) -> None:
    held = HeldStore(tmp_path, outcomes())
    store = held.store
    for token in range(1, 1001):
        store.append(token, "prices", token, token + 1, [b"x" * 100])
    held.let_go()
    held.outcomes.wait_for(range(1001))
    assert store.counters.commits == 2
    assert store.counters.log_syncs == 2
    assert store.counters.orders == 1001
    assert held.outcomes.commits[1] == Commit(list(range(1, 1001)), [])
    assert store.pending_bytes == 0
    store.close()


def test_each_log_is_synced_once_in_a_commit(tmp_path: Path, outcomes: Any) -> None:
    held = HeldStore(tmp_path, outcomes())
    for token in range(1, 31):
        held.store.append(token, f"log-{token % 3}", token, token + 1, [b"x"])
    held.let_go()
    held.outcomes.wait_for(range(31))
    assert (held.store.counters.commits, held.store.counters.log_syncs) == (2, 4)
    held.store.close()


def test_a_commit_is_bounded(tmp_path: Path, outcomes: Any) -> None:
    options = StoreOptions(segment_bytes=1 << 20, max_commit_bytes=10_000)
    held = HeldStore(tmp_path, outcomes(), options)
    for token in range(1, 21):
        held.store.append(token, "prices", token, token + 1, [bytes(960)])  # 1000 with its header
    held.store.append(21, "prices", 21, 22, [bytes(50_000)])  # too large for any, so it goes alone
    held.let_go()
    held.outcomes.wait_for(range(22))
    assert [len(commit.durable) for commit in held.outcomes.commits] == [1, 10, 10, 1]
    held.store.close()


def test_state_changes_share_a_transaction_and_the_last_one_counts(
    tmp_path: Path, outcomes: Any
) -> None:
    held = HeldStore(tmp_path, outcomes())
    held.store.set_state(1, {"a": b"1", "b": b"1"})
    held.store.append(2, "prices", 1, 2, [b"x"])
    held.store.set_state(3, {"a": b"2", "b": None})
    held.let_go()
    held.outcomes.wait_for(range(4))
    assert held.outcomes.commits[1].durable == [1, 2, 3]
    assert held.store.load_state() == {"a": b"2"}
    held.store.close()


def test_nothing_is_visible_before_it_is_durable(tmp_path: Path, outcomes: Any) -> None:
    held = HeldStore(tmp_path, outcomes())
    held.store.append(1, "prices", 5, 6, [b"x"])
    held.store.set_state(2, {"a": b"1"})
    assert held.store.read("prices", 0, 10, 100).records == []
    assert held.store.bounds("prices").end_high == 0
    assert held.store.load_state() == {}
    held.let_go()
    held.outcomes.wait_for([1, 2])
    assert len(held.store.read("prices", 0, 10, 100).records) == 1
    held.store.close()


def test_what_waits_is_bounded_and_the_caller_is_told(tmp_path: Path, outcomes: Any) -> None:
    options = StoreOptions(segment_bytes=1 << 20, max_pending_bytes=10_000)
    held = HeldStore(tmp_path, outcomes(), options)
    store = held.store
    for token in range(1, 11):
        store.append(token, "prices", token, token + 1, [bytes(960)])
    assert store.pending_bytes == store.max_pending_bytes == 10_000
    with pytest.raises(StoreOverloaded, match="try again after a commit"):
        store.append(11, "prices", 11, 12, [b""])
    with pytest.raises(StoreOverloaded):
        store.set_state(11, {})
    held.let_go()
    held.outcomes.wait_for(range(11))
    store.append(11, "prices", 11, 12, [bytes(20_000)])  # when nothing waits, any size is taken
    held.outcomes.wait_for([11])
    store.close()


def test_closing_commits_what_was_accepted(tmp_path: Path, outcomes: Any) -> None:
    held = HeldStore(tmp_path, outcomes())
    for token in range(1, 101):
        held.store.append(token, "prices", token, token + 1, [b"x"])
    held.let_go()
    held.store.close()
    assert held.outcomes.durable == list(range(101))
    with pytest.raises(StoreClosed, match="the store was closed"):
        held.store.append(101, "prices", 101, 102, [b"x"])


def test_a_listener_that_fails_does_not_stop_the_store(
    tmp_path: Path, outcomes: Any, caplog: pytest.LogCaptureFixture
) -> None:
    heard = outcomes()

    def listener(commit: Commit) -> None:
        heard(commit)
        raise RuntimeError("the event loop is closed")

    with DiskStore(tmp_path, listener, SMALL) as store:
        for token in range(3):
            store.append(token, "prices", token, token + 1, [b"x"])
            heard.wait_for([token])
    assert "on_commit failed for tokens" in caplog.text


def test_a_bug_in_the_commit_thread_fails_what_waits_instead_of_hanging(
    tmp_path: Path, outcomes: Any, caplog: pytest.LogCaptureFixture
) -> None:
    held = HeldStore(tmp_path, outcomes())
    held.store.append(1, "prices", 1, 2, ["not bytes"])  # type: ignore[list-item]
    held.store.set_state(2, {"a": b"1"})
    held.let_go()
    held.outcomes.wait_for([1, 2])
    assert [failure.retriable for failure in held.outcomes.failures.values()] == [False, False]
    with pytest.raises(StoreClosed, match="open the store again"):
        held.store.append(3, "prices", 3, 4, [b"x"])
    held.store.close()
    assert "a commit was broken off" in caplog.text


def quick_store(directory: Path, outcomes: Any, *, quick_commit_s: float = 60.0) -> DiskStore:
    """A store that has seen how quick its disk is, and takes it for quick."""
    store = DiskStore(
        directory, outcomes, StoreOptions(segment_bytes=1 << 20, quick_commit_s=quick_commit_s)
    )
    store.append(0, "prices", 0, 1, [b"x"], wake=False)
    # Nothing is known of the disk yet, so this is the thread's.
    assert store.commit() is None
    outcomes.wait_for([0])
    wait_until_idle(store)
    be_idle(store)
    return store


def be_idle(store: DiskStore, *, idle: bool = True) -> None:
    """What the store found out about the caller, and will not look at again in this test."""
    store._group_commit._caller_is_busy = not idle
    store._group_commit._caller_seen_at = time.monotonic() + 3600


def wait_until_idle(store: DiskStore) -> None:
    """Until the thread waits again; its report comes a little before that."""
    while not store._group_commit._idle:
        time.sleep(0.001)


def test_little_work_is_done_where_it_was_ordered(tmp_path: Path, outcomes: Any) -> None:
    heard = outcomes()
    with quick_store(tmp_path, heard) as store:
        store.append(1, "prices", 1, 2, [b"x"], wake=False)
        store.append(2, "rates", 1, 2, [b"x"], wake=False)
        assert store.commit() == Commit([1, 2], [])
        assert store.pending_bytes == 0
        assert len(store.read("prices", 0, 10, 100).records) == 2
        assert heard.durable == [0]


def test_after_a_commit_the_caller_is_left_in_peace(tmp_path: Path, outcomes: Any) -> None:
    heard = outcomes()
    with quick_store(tmp_path, heard) as store:
        store._group_commit._here_again_at = time.monotonic() + 60
        store.append(1, "prices", 1, 2, [b"x"], wake=False)
        assert store.commit() is None
        heard.wait_for([1])


def test_a_caller_that_is_busy_has_better_things_to_do(tmp_path: Path, outcomes: Any) -> None:
    heard = outcomes()
    with quick_store(tmp_path, heard) as store:
        be_idle(store, idle=False)
        store.append(1, "prices", 1, 2, [b"x"], wake=False)
        assert store.commit() is None
        heard.wait_for([1])


@pytest.mark.parametrize("busy", [False, True])
def test_whether_the_caller_is_busy_is_seen_from_its_processor_time(
    tmp_path: Path, outcomes: Any, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    heard = outcomes()
    with quick_store(tmp_path, heard) as store:
        committing = store._group_commit
        # Ten seconds ago, of which it has spent nine or one.
        committing._caller_seen_at = time.monotonic() - 10
        spent_s = committing._caller_spent_s + (9 if busy else 1)
        monkeypatch.setattr(time, "thread_time", lambda: spent_s)
        store.append(1, "prices", 1, 2, [b"x"], wake=False)
        assert (store.commit() is None) == busy
        if busy:
            heard.wait_for([1])


@pytest.mark.parametrize("what", ["a slow disk", "much", "a state"])
def test_more_than_a_little_is_the_threads(tmp_path: Path, outcomes: Any, what: str) -> None:
    heard = outcomes()
    quick_commit_s = 0.0 if what == "a slow disk" else 60.0
    with quick_store(tmp_path, heard, quick_commit_s=quick_commit_s) as store:
        data = bytes(100_000) if what == "much" else b"x"
        store.append(1, "prices", 1, 2, [data], wake=False)
        if what == "a state":
            store.set_state(2, {"a": b"1"}, wake=False)
        assert store.commit() is None
        heard.wait_for([1])


def test_while_the_thread_works_it_gets_everything(tmp_path: Path, outcomes: Any) -> None:
    held = HeldStore(tmp_path, outcomes())
    held.store.append(1, "prices", 1, 2, [b"x"], wake=False)
    assert held.store.commit() is None
    held.let_go()
    held.outcomes.wait_for([1])
    held.store.close()


def test_a_bug_in_the_callers_thread_fails_what_waits_too(tmp_path: Path, outcomes: Any) -> None:
    store = quick_store(tmp_path, outcomes())
    store.append(1, "prices", 1, 2, ["not bytes"], wake=False)  # type: ignore[list-item]
    commit = store.commit()
    assert commit is not None
    assert [(each.token, each.retriable) for each in commit.failed] == [(1, False)]
    with pytest.raises(StoreClosed, match="open the store again"):
        store.append(2, "prices", 3, 4, [b"x"])
    store.close()
