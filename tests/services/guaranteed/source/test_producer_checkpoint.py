"""What is saved of the producers, and what is left out."""

from __future__ import annotations

from typing import Any

from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    LogRead,
    Persist,
    PersistState,
    ReadLog,
    TrimLog,
)

START = 100 * SECOND


def only_persist(effects: list[Effect]) -> Persist:
    (persist,) = effects
    assert isinstance(persist, Persist)
    return persist


def ordered(effects: list[Effect], kind: type) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_a_checkpoint_leaves_out_rows_in_flight(pubend_bench: Any) -> None:
    before = pubend_bench()
    before.store(0, 4)
    before.publish(4, 2)
    (order,) = ordered(before.deadline(START + 10 * SECOND), PersistState)
    saved = order.values["pubend/p/producers"]
    before.resolve(order.token)
    bench = pubend_bench(
        bounds=(START, before.pubend.spoken_end, 0), saved=saved, now=START + SECOND
    )

    assert bench.pubend.start() == []
    assert bench.pubend.next_sequence("a") == 4
    assert ordered(before.deadline(START + 20 * SECOND), PersistState)


def test_the_instance_of_a_name_is_recovered_from_the_log(pubend_bench: Any) -> None:
    before = pubend_bench()
    assert before.pubend.open("a", 7, resumes=False)
    entry = only_persist(before.publish(0, 3)).frame
    assert entry.instance == 7

    bench = pubend_bench(bounds=(START, entry.frame.high, 100))
    (read,) = bench.pubend.start()
    assert isinstance(read, ReadLog)
    bench.pubend.log_read(LogRead(read.token, (entry,), entry.frame.high), START, [])
    assert not bench.pubend.open("a", 6, resumes=True)
    assert bench.pubend.open("a", 7, resumes=True)


def test_the_instance_of_a_name_is_saved_with_the_producers(pubend_bench: Any) -> None:
    before = pubend_bench(producer_checkpoint_ns=SECOND)
    before.store(0, 3)
    before.pubend.open("a", 7, resumes=False)
    orders = [e for e in before.deadline(START + SECOND) if isinstance(e, PersistState)]
    (saved,) = [order.values["pubend/p/producers"] for order in orders]

    bench = pubend_bench(saved=saved, bounds=(START, START + 3, 100))
    assert not bench.pubend.open("a", 6, resumes=True)


def test_the_log_is_trimmed_only_as_far_as_a_saved_table_is_right(pubend_bench: Any) -> None:
    """A row that is neither in the table nor in the log would be stored again by a repeat."""
    bench = pubend_bench(
        retain_for_ns=SECOND, hold_expiry_ns=SECOND, producer_checkpoint_ns=20 * SECOND
    )
    bench.store(0, 5)
    for second in range(1, 20):
        assert not ordered(bench.deadline(START + second * SECOND), TrimLog)
    (save,) = ordered(bench.deadline(START + 20 * SECOND), PersistState)
    assert not ordered(bench.deadline(START + 25 * SECOND), TrimLog)

    bench.resolve(save.token)
    (trim,) = ordered(bench.deadline(START + 30 * SECOND), TrimLog)
    assert trim.below >= START + 5


def test_a_table_that_could_not_be_saved_is_saved_again(pubend_bench: Any) -> None:
    bench = pubend_bench(
        retain_for_ns=SECOND, hold_expiry_ns=SECOND, producer_checkpoint_ns=5 * SECOND
    )
    bench.store(0, 5)
    (save,) = ordered(bench.deadline(START + 5 * SECOND), PersistState)
    bench.resolve(save.token, "the disk is full")

    effects = bench.deadline(START + 10 * SECOND)
    assert ordered(effects, PersistState)
    assert not ordered(effects, TrimLog)


def test_a_log_that_is_nearly_full_does_not_wait_for_the_next_checkpoint(pubend_bench: Any) -> None:
    bench = pubend_bench(
        retain_for_ns=SECOND,
        hold_expiry_ns=SECOND,
        producer_checkpoint_ns=1000 * SECOND,
        log_limit_bytes=190,
    )
    bench.store(0, 5)
    assert bench.pubend.log_bytes > 171
    effects = [e for second in range(1, 5) for e in bench.deadline(START + second * SECOND)]
    assert not ordered(effects, TrimLog)
    (save,) = ordered(effects, PersistState)
    bench.resolve(save.token)
    assert ordered(bench.deadline(bench.now), TrimLog)


def test_a_full_disk_is_not_asked_again_at_once(pubend_bench: Any) -> None:
    """The table of a log that is nearly full is wanted soon; a store that refuses it has a rest."""
    bench = pubend_bench(
        retain_for_ns=SECOND,
        hold_expiry_ns=SECOND,
        producer_checkpoint_ns=1000 * SECOND,
        log_limit_bytes=190,
    )
    bench.store(0, 5)
    for second in range(1, 30):
        saves = ordered(bench.deadline(START + second * SECOND), PersistState)
        assert len(saves) <= 1
        for save in saves:
            bench.resolve(save.token, "the disk is full")
            assert bench.deadline(bench.now) == []
            assert bench.pubend.next_deadline() > bench.now


def test_what_a_restart_read_from_the_log_is_saved_before_the_log_is_trimmed(
    pubend_bench: Any,
) -> None:
    before = pubend_bench()
    entry = only_persist(before.publish(0, 3)).frame
    bench = pubend_bench(
        bounds=(START, entry.frame.high, 100),
        retain_for_ns=SECOND,
        hold_expiry_ns=SECOND,
        producer_checkpoint_ns=10 * SECOND,
    )
    (read,) = bench.pubend.start()
    bench.pubend.log_read(LogRead(read.token, (entry,), entry.frame.high), START, [])
    for second in range(1, 10):
        assert not ordered(bench.deadline(START + second * SECOND), TrimLog)
    assert ordered(bench.deadline(START + 10 * SECOND), PersistState)
