"""The time in which a queue had messages."""

from __future__ import annotations

from penstock.services.queues.queue.busy_clock import BusyClock


def test_only_busy_time_counts():
    clock = BusyClock(0)
    clock.set(True, 10)
    clock.set(True, 20)
    assert clock.total_ns(30) == 20
    clock.set(False, 40)
    assert clock.total_ns(100) == 30
    clock.set(True, 100)
    assert clock.total_ns(101) == 31
