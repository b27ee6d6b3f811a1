from __future__ import annotations

from penstock.net.broker.restarts import MOST_FAILURES, WITHIN_S, Restarts


def test_the_pause_doubles_and_then_the_broker_gives_up() -> None:
    restarts = Restarts()

    pauses = [restarts.pause_s(float(number)) for number in range(MOST_FAILURES)]

    assert pauses == [0.5, 1.0, 2.0, 4.0, None]


def test_failures_of_long_ago_do_not_count() -> None:
    restarts = Restarts()

    pauses = [restarts.pause_s(WITHIN_S * number) for number in range(3 * MOST_FAILURES)]

    assert pauses == [0.5] * (3 * MOST_FAILURES)
