"""Which publications are stored, wait, or are refused."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import FRAME_HEADER_BYTES, Frame
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    Persist,
    Send,
)
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.messages import (
    DurableClaim,
    PublishReceipt,
    PublishRefused,
)

START = 100 * SECOND
QUIET = CongestionParameters(pdcc=False)


def batch(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": number}, b"") for number in range(first, first + count)])


def numbers(frames: list[Frame]) -> list[int]:
    return [row["n"] for frame in frames for row in frame.batch.attribute_rows()]  # type: ignore[misc]


def only_persist(effects: list[Effect]) -> Persist:
    (persist,) = effects
    assert isinstance(persist, Persist)
    return persist


def replies(effects: list[Effect]) -> list[Any]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_a_full_log_refuses_and_names_the_holder(pubend_bench: Any) -> None:
    bench = pubend_bench(log_limit_bytes=1)
    bench.holds.claim_durable("edge-7", DurableClaim(START, "durable subscription 'gone'"))
    (reply,) = replies(bench.publish(0, 1))

    assert isinstance(reply, PublishRefused)
    assert "log_limit_bytes (1)" in reply.reason
    assert "durable subscription 'gone' at broker 'edge-7'" in reply.reason


def test_more_than_the_submit_limit_is_refused(pubend_bench: Any) -> None:
    bench = pubend_bench(submit_limit_bytes=2 * batch(0, 1).wire_size + FRAME_HEADER_BYTES)
    only_persist(bench.publish(0, 1))
    only_persist(bench.publish(1, 1))
    (reply,) = replies(bench.publish(2, 1))

    assert isinstance(reply, PublishRefused)
    assert "publish buffer is full" in reply.reason


def test_a_publication_waits_for_the_gate_and_says_how_long(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.pubend.control.admission.set_rate(1.0, START)
    bench.store(0, 1)
    assert bench.publish(1, 1) == []
    assert bench.pubend.waiting == 1
    assert bench.pubend.next_deadline() == START + SECOND

    (persist,) = [e for e in bench.deadline(START + SECOND) if isinstance(e, Persist)]
    (receipt,) = replies(bench.resolve(persist.token))
    assert receipt.waited_ns == SECOND


def test_waiting_publications_of_a_publisher_that_is_gone_are_dropped(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.pubend.control.admission.set_rate(1.0, START)
    bench.store(0, 1)
    bench.publish(1, 1)
    bench.pubend.producer_left("session", "a")

    assert bench.pubend.waiting == 0
    assert not [
        e for e in bench.deadline(START + SECOND) if isinstance(e, Persist) and e.frame.producer
    ]


def test_publications_that_wait_when_the_sync_fails_are_refused(pubend_bench: Any) -> None:
    bench = pubend_bench()
    persist = only_persist(bench.publish(0, 1))
    bench.pubend.control.admission.set_rate(1.0, START)
    bench.pubend.control.admission.passed(1, START)
    assert bench.publish(1, 1) == []
    bench.resolve(persist.token, "EIO", uncertain=True)
    (refused,) = replies(bench.deadline(START + SECOND))
    assert (refused.first_sequence, refused.uncertain) == (1, False)


def test_a_repeat_of_what_is_stored_is_confirmed_even_if_there_is_no_room(
    pubend_bench: Any,
) -> None:
    bench = pubend_bench(log_limit_bytes=200)
    bench.store(0, 2)
    (refused,) = replies(bench.publish(2, 100))
    assert isinstance(refused, PublishRefused)
    assert "log_limit_bytes" in refused.reason
    (confirmed,) = replies(bench.publish(0, 2))
    assert confirmed == PublishReceipt("a", 0, 2, 0, 0)


def test_a_publisher_with_a_long_backlog_leaves_room_for_the_others(pubend_bench: Any) -> None:
    limit = 100 * batch(0, 1).wire_size
    bench = pubend_bench(submit_limit_bytes=limit, congestion=QUIET)
    bench.pubend.control.admission.set_rate(0.001, bench.now)
    refused = []
    for number in range(60):
        refused += replies(bench.publish(number, 1, "flood"))
    assert all("a quarter of submit_limit_bytes" in each.reason for each in refused)
    assert 30 <= len(refused) <= 40

    assert replies(bench.publish(0, 1, "honest")) == []


def test_of_a_partial_repeat_only_the_new_rows_are_stored(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.store(0, 3)
    persist = only_persist(bench.publish(1, 4))
    assert persist.frame.first_sequence == 3

    assert replies(bench.resolve(persist.token)) == [PublishReceipt("a", 1, 4, 0)]
    assert numbers(bench.spoken) == [0, 1, 2, 3, 4]


def test_producers_have_separate_numbers(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.store(0, 1, "a")
    bench.store(0, 1, "b")

    assert numbers(bench.spoken) == [0, 0]
    assert bench.pubend.next_sequence("b") == 1
