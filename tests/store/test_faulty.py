from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.store.faulty import MemoryStore
from penstock.store.interface import Commit, Failure, LogBounds, OutOfOrder, StoreOverloaded


def lows(store: MemoryStore[str], log: str = "prices") -> list[int]:
    return [record.low for record in store.read(log, 0, 2**62, 2**40).records]


def test_records_are_durable_after_the_sync_and_are_the_same_objects() -> None:
    store: MemoryStore[list[int]] = MemoryStore(len)
    data = [1, 2, 3]
    store.append(7, "prices", 5, 8, data)
    assert store.bounds("prices") == LogBounds(0, 0, 0)
    assert store.sync() == Commit([7], [])
    (record,) = store.read("prices", 0, 9, 100).records
    assert record.data is data
    assert store.bounds("prices") == LogBounds(0, 8, 3)


def test_a_sync_takes_as_many_orders_as_were_there_when_it_began() -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.append(1, "prices", 0, 1, "a")
    store.set_state(2, {"x": b"1"})
    began_with = store.unsynced_orders
    store.append(3, "prices", 1, 2, "b")
    assert store.sync(began_with) == Commit([1, 2], [])
    assert (lows(store), store.load_state()) == ([0], {"x": b"1"})
    assert store.sync() == Commit([3], [])


def test_a_full_disk_fails_everything_until_the_caller_knows() -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.append(1, "prices", 0, 1, "a")
    store.full = True
    store.append(2, "prices", 1, 2, "b")
    store.set_state(3, {"x": b"1"})
    store.full = False
    store.append(4, "prices", 2, 3, "c")
    store.append(5, "trades", 0, 1, "d")
    commit = store.sync()
    assert commit.durable == [1, 5]
    assert [(failure.token, failure.log) for failure in commit.failed] == [
        (2, "prices"),
        (3, None),
        (4, "prices"),
    ]
    for failure in commit.failed:
        store.resume_after(failure)
    store.append(2, "prices", 1, 2, "b")
    assert store.sync() == Commit([2], [])
    assert (lows(store), store.pending_bytes) == ([0, 1], 0)


def test_an_old_failure_does_not_excuse_a_new_one() -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.full = True
    store.append(1, "prices", 0, 1, "a")
    store.append(2, "prices", 1, 2, "b")
    first, second = store.sync().failed
    store.resume_after(first)
    store.append(3, "prices", 0, 1, "a")  # fails again
    store.full = False
    store.resume_after(second)
    store.append(4, "prices", 1, 2, "b")
    assert [failure.token for failure in store.sync().failed] == [3, 4]
    assert lows(store) == []


def test_order_and_bound_are_checked() -> None:
    store: MemoryStore[str] = MemoryStore(len, max_pending_bytes=10)
    store.append(1, "prices", 0, 5, "12345678")
    for low, high in ((4, 6), (5, 5), (6, 2**63)):
        with pytest.raises(OutOfOrder):
            store.append(2, "prices", low, high, "x")
    with pytest.raises(StoreOverloaded):
        store.append(2, "prices", 5, 6, "123")
    store.sync()
    store.append(2, "prices", 5, 6, "a record above the bound, alone")


def test_a_failure_without_a_log_needs_no_resuming() -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.resume_after(Failure(1, None, "the disk is full", retriable=True))
    assert store.log_names() == []


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from(["prices", "trades"])),
        st.tuples(st.just("state"), st.just("")),
        st.tuples(st.just("sync"), st.just("")),
        st.tuples(st.just("trim"), st.sampled_from(["prices", "trades"])),
    ),
    max_size=40,
)


@given(steps, st.integers(0, 1000), st.booleans())
def test_a_crash_keeps_what_was_synced_and_a_prefix_of_the_rest(
    steps: list[tuple[str, str]], seed: int, lying: bool
) -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.lying = lying
    ordered: dict[str, list[int]] = {"prices": [], "trades": []}
    changes = synced_changes = 0
    synced = {"prices": 0, "trades": 0}
    for token, (step, log) in enumerate(steps):
        if step == "append":
            store.append(token, log, token, token + 1, "x")
            ordered[log].append(token)
        elif step == "state":
            changes += 1
            store.set_state(token, {"changes": b"%d" % changes})
        elif step == "sync":
            store.sync()
            synced = {name: len(ticks) for name, ticks in ordered.items()}
            synced_changes = changes
        else:
            store.trim(log, token // 2)
    before = {name: store.bounds(name).first_low for name in ordered}
    store.crash(Random(seed))
    for name, ticks in ordered.items():
        first_low = store.bounds(name).first_low
        assert first_low == before[name]
        kept = lows(store, name)
        expected = [tick for tick in ticks if tick >= first_low]
        assert kept == expected[: len(kept)]
        if not lying:
            assert set(ticks[: synced[name]]) <= {*kept, *range(first_low)}
        assert store.bounds(name).stored_bytes == len(kept)
        if ticks:
            store.append(1000, name, 1000, 1001, "x")
    surviving = int(store.load_state().get("changes", b"0"))
    assert surviving <= changes
    assert lying or surviving >= synced_changes
    assert store.sync().failed == []


@given(st.integers(0, 1000))
def test_a_state_change_survives_only_with_the_appends_before_it(seed: int) -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.append(1, "prices", 0, 1, "x")
    store.set_state(2, {"after": b"1"})
    store.crash(Random(seed))
    assert "after" not in store.load_state() or lows(store) == [0]


def test_a_crash_is_repeated_by_its_seed() -> None:
    def run() -> list[int]:
        store: MemoryStore[str] = MemoryStore(len)
        for tick in range(100):
            store.append(tick, "prices", tick, tick + 1, "x")
        store.crash(Random(5))
        return lows(store)

    assert run() == run()


def test_an_honest_sync_makes_earlier_lies_true() -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.lying = True
    store.append(1, "prices", 0, 1, "x")
    store.set_state(2, {"x": b"1"})
    assert store.sync() == Commit([1, 2], [])
    store.lying = False
    store.sync()
    store.crash(Random(0))
    assert (lows(store), store.load_state()) == ([0], {"x": b"1"})


def test_a_lie_is_found_out_by_some_crash() -> None:
    survivors = set()
    for seed in range(20):
        store: MemoryStore[str] = MemoryStore(len)
        store.lying = True
        store.append(1, "prices", 0, 1, "x")
        store.sync()
        store.crash(Random(seed))
        survivors.add(len(lows(store)))
    assert survivors == {0, 1}


def test_a_failed_sync_leaves_it_open_what_is_stored() -> None:
    found = set()
    for seed in range(50):
        store: MemoryStore[str] = MemoryStore(len)
        store.append(1, "prices", 0, 1, "a")
        assert store.sync() == Commit([1], [])
        store.append(2, "prices", 1, 2, "b")
        store.append(3, "trades", 0, 1, "c")
        store.failing_sync = True
        commit = store.sync()
        (failure,) = commit.failed
        assert (failure.token, failure.log, failure.uncertain) == (2, "prices", True)
        assert commit.durable == [3]
        store.resume_after(failure)
        store.append(4, "prices", 2, 3, "d")
        (refused,) = store.sync().failed
        assert (refused.token, refused.uncertain, refused.retriable) == (4, False, False)
        assert lows(store) == [0]
        store.crash(Random(seed))
        assert lows(store, "trades") == [0]
        found.add(tuple(lows(store)))
        store.append(5, "prices", 5, 6, "e")
        assert store.sync().durable == [5]
    assert found == {(0,), (0, 1)}


def test_a_failed_sync_of_the_state_closes_the_state_alone() -> None:
    store: MemoryStore[str] = MemoryStore(len)
    store.failing_sync = True
    store.set_state(1, {"x": b"1"})
    (failure,) = store.sync().failed
    assert (failure.log, failure.uncertain) == (None, True)
    store.set_state(2, {"y": b"1"})
    store.append(3, "prices", 0, 1, "a")
    commit = store.sync()
    assert ([each.token for each in commit.failed], commit.durable) == ([2], [3])
    assert not commit.failed[0].uncertain
