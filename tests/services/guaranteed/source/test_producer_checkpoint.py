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
)

START = 100 * SECOND


def only_persist(effects: list[Effect]) -> Persist:
    (persist,) = effects
    assert isinstance(persist, Persist)
    return persist


def test_a_checkpoint_leaves_out_rows_in_flight(pubend_bench: Any) -> None:
    before = pubend_bench()
    before.store(0, 4)
    before.publish(4, 2)
    (saved,) = [
        effect.values["pubend/p/producers"]
        for effect in before.deadline(START + 10 * SECOND)
        if isinstance(effect, PersistState)
    ]
    bench = pubend_bench(
        bounds=(START, before.pubend.spoken_end, 0), saved=saved, now=START + SECOND
    )

    assert bench.pubend.start() == []
    assert bench.pubend.next_sequence("a") == 4
    assert [e for e in before.deadline(START + 20 * SECOND) if isinstance(e, PersistState)]


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
