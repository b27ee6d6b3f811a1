from penstock.core.randomness import random_stream
from penstock.mechanisms.back_off import FIRST_WAIT, LONGEST_WAIT, SUCCESS, BackOff


def test_waits_double_up_to_the_longest() -> None:
    back_off = BackOff(random_stream(1, "client"))
    bound = FIRST_WAIT
    for _ in range(20):
        assert bound // 2 <= back_off.next_wait() <= bound
        bound = min(2 * bound, LONGEST_WAIT)
    assert bound == LONGEST_WAIT


def test_a_connection_that_lived_starts_the_waits_anew() -> None:
    back_off = BackOff(random_stream(1, "client"))
    for _ in range(10):
        back_off.next_wait()
    assert back_off.wait_after(SUCCESS) == 0
    assert back_off.next_wait() <= FIRST_WAIT


def test_a_broker_that_hangs_up_at_once_is_not_hammered() -> None:
    back_off = BackOff(random_stream(1, "client"))
    for _ in range(10):
        back_off.wait_after(SUCCESS - 1)
    assert back_off.wait_after(SUCCESS - 1) >= LONGEST_WAIT // 2


def test_two_clients_do_not_come_back_together() -> None:
    first, second = (BackOff(random_stream(1, name)) for name in ("a", "b"))
    assert [first.next_wait() for _ in range(5)] != [second.next_wait() for _ in range(5)]
