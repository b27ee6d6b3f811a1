"""One log in memory: what is visible, what is stable, what is trimmed."""

from random import Random

from penstock.store.interface import LogBounds, Record
from penstock.store.memory_log import MemoryLog


def filled(count: int) -> MemoryLog[str]:
    """Records of ten ticks and one byte each, all durable."""
    log: MemoryLog[str] = MemoryLog("prices")
    for number in range(count):
        log.add(Record(10 * number, 10 * number + 10, str(number)), 1)
    log.visible = log.stable = log.stored_bytes = count
    return log


def lows(log: MemoryLog[str], low: int, high: int, max_bytes: int = 100) -> list[int]:
    return [record.low for record in log.read(low, high, max_bytes).records]


def test_only_visible_records_are_read() -> None:
    log = filled(3)
    log.visible = 2
    assert lows(log, 0, 100) == [0, 10]
    assert log.bounds() == LogBounds(0, 20, 3)
    assert log.end_high() == 30


def test_a_slice_has_the_records_that_touch_up_to_its_limits() -> None:
    log = filled(5)
    assert lows(log, 9, 21) == [0, 10, 20]
    assert lows(log, 5, 5) == []
    limited = log.read(0, 50, 2)
    assert ([each.low for each in limited.records], limited.complete_to) == ([0, 10], 20)
    assert len(log.read(0, 50, 100, 1).records) == 1


def test_a_trim_forgets_whole_records_and_reads_start_there() -> None:
    log = filled(10)
    log.trim(75)
    assert log.bounds() == LogBounds(75, 100, 3)
    assert lows(log, 0, 100) == [70, 80, 90]
    assert log.read(0, 100, 100).complete_from == 75
    log.trim(1000)
    assert log.bounds() == LogBounds(100, 100, 0)


def test_a_damaged_record_is_lost_until_it_is_trimmed() -> None:
    log = filled(1)
    assert log.damage(Random(1)) == (0, 10)
    part = log.read(0, 10, 100)
    assert (part.records, part.lost) == ([], ((0, 10),))
    assert log.lost() == ((0, 10),)
    log.trim(10)
    assert log.lost() == ()
    assert log.damage(Random(1)) is None


def test_a_crash_keeps_a_prefix_and_begins_a_new_epoch() -> None:
    log = filled(4)
    log.front.epoch = 3
    log.closed = True
    assert log.keep(1) == 3
    assert (log.front.accepted_high, log.front.epoch, log.closed) == (10, 0, False)
    assert lows(log, 0, 100) == [0]
