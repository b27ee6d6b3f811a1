import time

from penstock.net.wall_clock import WallClock


def test_it_tells_the_time_of_day() -> None:
    before = time.time_ns()
    clock = WallClock()
    assert clock.now() >= before - 1_000_000


def test_it_never_goes_backwards() -> None:
    clock = WallClock()
    readings = [clock.now() for _ in range(1000)]
    assert readings == sorted(readings)


def test_it_starts_no_earlier_than_told() -> None:
    tomorrow = time.time_ns() + 86_400 * 10**9
    assert WallClock(not_before=tomorrow).now() >= tomorrow
