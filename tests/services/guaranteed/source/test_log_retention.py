"""How much of a log is kept: for those who claim it, for replay, and while it is not known."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.guaranteed.messages import DurableClaim
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.log_retention import LogRetention


def retention(**parameters: int) -> tuple[LogRetention, Holds]:
    holds = Holds()
    used = GuaranteedParameters(**{"hold_expiry_ns": 1, **parameters})
    return LogRetention(used, holds, 0, 0, 0), holds


def test_what_is_older_than_its_time_is_given_up() -> None:
    kept, _ = retention(retain_for_ns=10 * SECOND)
    assert kept.trim(100, 100, SECOND) == 0
    assert kept.trim(200, 200, 5 * SECOND) == 0

    assert kept.trim(300, 300, 11 * SECOND) == 100
    assert kept.trim(400, 400, 15 * SECOND) == 200


def test_a_claim_keeps_what_lies_above_it() -> None:
    kept, holds = retention(retain_for_ns=SECOND)
    holds.claim_durable("edge", DurableClaim(150, "cursor 'c'"))
    kept.trim(100, 100, SECOND)
    assert kept.trim(200, 200, 2 * SECOND) == 100
    assert kept.trim(300, 300, 10 * SECOND) == 100

    holds.claim_durable("edge", None)
    kept.look_soon(10 * SECOND)
    assert kept.look_at == 10 * SECOND
    assert kept.trim(300, 300, 10 * SECOND) == 200


def test_the_size_counts_what_is_left() -> None:
    kept, _ = retention(retain_bytes=50, log_limit_bytes=1000)
    kept.appended(100)
    kept.trim(10, 10, SECOND)
    kept.appended(100)
    assert kept.bytes == 200
    assert not kept.is_full(800)
    assert kept.is_full(801)

    assert kept.trim(20, 20, 2 * SECOND) == 10
    assert kept.bytes == 100


def test_after_a_start_only_a_log_that_is_nearly_full_gives_anything_up() -> None:
    kept, _ = retention(retain_bytes=1, hold_expiry_ns=100 * SECOND, log_limit_bytes=1000)
    kept.trim(10, 10, SECOND)
    kept.appended(800)
    assert kept.trim(20, 20, 2 * SECOND) == 0
    kept.appended(150)

    assert kept.trim(30, 30, 3 * SECOND) == 20


def test_what_a_restart_needs_to_recognise_repeats_is_kept() -> None:
    kept, _ = retention(retain_for_ns=SECOND, log_limit_bytes=1000)
    kept.trim(100, 100, SECOND)
    assert kept.trim(200, 50, 5 * SECOND) == 0
    assert not kept.needs_checkpoint, "the next one comes soon enough"

    kept.appended(950)
    assert kept.trim(300, 50, 6 * SECOND) == 0
    assert kept.needs_checkpoint
    assert kept.trim(300, 100, 6 * SECOND) == 100
    assert kept.trim(300, 300, 6 * SECOND) == 200
    assert not kept.needs_checkpoint
