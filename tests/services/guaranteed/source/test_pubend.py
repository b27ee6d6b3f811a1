"""The pubend as a whole: its log is trimmed as claims and retention allow."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.frame import FRAME_HEADER_BYTES
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Persist,
    PersistState,
    TrimLog,
)
from penstock.services.guaranteed.messages import (
    DurableClaim,
)

START = 100 * SECOND


def trims(bench: Any, until: int) -> list[TrimLog]:
    found: list[TrimLog] = []
    for now in range(bench.now + SECOND, until + 1, SECOND):
        for effect in bench.deadline(now):
            if isinstance(effect, Persist | PersistState):
                bench.resolve(effect.token)
            elif isinstance(effect, TrimLog):
                found.append(effect)
    return found


def test_what_is_acknowledged_and_old_is_trimmed(pubend_bench: Any) -> None:
    bench = pubend_bench(retain_for_ns=10 * SECOND, hold_expiry_ns=SECOND)
    bench.store(0, 5)
    assert trims(bench, START + 10 * SECOND) == []

    (first, *_) = trims(bench, START + 12 * SECOND)
    assert first.log == "pubend/p"
    assert bench.pubend.log_start >= START + 5


def test_after_a_start_nothing_is_trimmed_until_edges_could_state_their_claims(
    pubend_bench: Any,
) -> None:
    bench = pubend_bench(retain_for_ns=SECOND, hold_expiry_ns=20 * SECOND)
    bench.store(0, 5)
    assert trims(bench, START + 19 * SECOND) == []

    assert trims(bench, START + 25 * SECOND)


def test_a_log_that_is_nearly_full_is_trimmed_at_once_after_a_start(pubend_bench: Any) -> None:
    bench = pubend_bench(retain_for_ns=SECOND, log_limit_bytes=10 * FRAME_HEADER_BYTES)
    bench.store(0, 5)

    assert trims(bench, START + 30 * SECOND)


def test_what_is_claimed_is_not_trimmed_however_old(pubend_bench: Any) -> None:
    bench = pubend_bench(retain_for_ns=SECOND)
    bench.holds.claim_durable("edge", DurableClaim(START + 2, "cursor 'c'"))
    bench.store(0, 5)

    assert trims(bench, START + 30 * SECOND) == []
    assert bench.pubend.log_start == START


def test_an_acknowledged_log_that_is_large_is_trimmed_before_it_is_old(pubend_bench: Any) -> None:
    bench = pubend_bench(retain_bytes=10 * FRAME_HEADER_BYTES, hold_expiry_ns=SECOND)

    assert trims(bench, START + 30 * SECOND)
    assert bench.pubend.log_bytes <= 12 * FRAME_HEADER_BYTES


def test_a_claim_that_is_released_frees_the_log_at_once(pubend_bench: Any) -> None:
    bench = pubend_bench(retain_for_ns=SECOND, hold_expiry_ns=SECOND)
    bench.holds.claim_durable("edge", DurableClaim(START, "cursor 'c'"))
    bench.store(0, 5)
    assert trims(bench, START + 10 * SECOND) == []

    bench.holds.claim_durable("edge", None)
    bench.pubend.retention.look_soon(bench.now)
    assert bench.pubend.next_deadline() == bench.now
    assert any(isinstance(effect, TrimLog) for effect in bench.deadline(bench.now))
