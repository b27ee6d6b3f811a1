from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.core.randomness import random_stream
from penstock.net.broker.config import DialConfig
from penstock.net.tcp.dialling import BackOff

CONFIG = DialConfig(first_delay_s=0.1, longest_delay_s=5.0)


def make() -> BackOff:
    return BackOff(CONFIG, random_stream(1, "dialling"))


def test_the_first_attempt_is_made_at_once_and_the_pauses_double_up_to_a_bound() -> None:
    back_off = make()
    pauses = [back_off.pause_s() for _ in range(12)]

    assert pauses[0] == 0
    for number, pause_s in enumerate(pauses[1:]):
        upper = min(0.1 * 2**number, 5.0)
        assert upper / 2 <= pause_s <= upper


def test_a_connection_that_lasted_starts_the_doubling_anew() -> None:
    back_off = make()
    for _ in range(10):
        back_off.pause_s()

    back_off.ended_after(5 * SECOND)

    assert back_off.pause_s() == 0


def test_a_connection_that_ended_at_once_does_not() -> None:
    back_off = make()
    for _ in range(10):
        back_off.pause_s()

    back_off.ended_after(SECOND)

    assert back_off.pause_s() >= 2.5
