from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.net.broker.restarts import MOST_FAILURES, WITHIN, restart_back_off


def test_a_broker_that_fails_at_each_start_gives_up_after_some_pauses() -> None:
    restarts = restart_back_off()

    pauses = [restarts.wait_after_failure(number * SECOND) for number in range(MOST_FAILURES)]

    assert pauses == [SECOND // 2, SECOND, 2 * SECOND, 4 * SECOND, None]


def test_a_broker_that_fails_seldom_never_gives_up() -> None:
    restarts = restart_back_off()

    pauses = [restarts.wait_after_failure(WITHIN * number) for number in range(3 * MOST_FAILURES)]

    assert pauses == [SECOND // 2] * (3 * MOST_FAILURES)
