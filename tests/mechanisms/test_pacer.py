from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Priority
from penstock.mechanisms.pacer import BURST_NS, Pacer

CONTROL, DATA = Priority.CONTROL, Priority.DATA
START = 1_700_000_000 * SECOND


def run_data(pacer: Pacer, sizes: list[int], start: int, oversleep_ns: int = 0) -> list[int]:
    """Send messages as early as allowed; returns when each left."""
    now = start
    went = []
    for size in sizes:
        ready_at = pacer.ready_at(DATA)
        if ready_at > now:
            now = ready_at + oversleep_ns
        pacer.sent(size, DATA, now)
        went.append(now)
    return went


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 100_000), min_size=1, max_size=60),
    rate=st.integers(1_000, 50_000_000),
)
def test_no_span_of_time_carries_more_than_the_rate_and_one_burst(
    sizes: list[int], rate: int
) -> None:
    went = run_data(Pacer(rate), sizes, START)

    for first in range(len(sizes)):
        for last in range(first, len(sizes)):
            span_s = (went[last] - went[first]) / SECOND
            carried = sum(sizes[first:last])
            assert carried <= rate * (span_s + BURST_NS / SECOND) + 1


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(100, 10_000), min_size=50, max_size=100),
    oversleep_ns=st.integers(0, 2 * MILLISECOND),
)
def test_timers_that_wake_late_cost_no_bandwidth(sizes: list[int], oversleep_ns: int) -> None:
    rate = 100_000

    went = run_data(Pacer(rate), sizes, START, oversleep_ns)

    ideal_s = sum(sizes[:-1]) / rate
    assert (went[-1] - START) / SECOND <= ideal_s + 2 * BURST_NS / SECOND


def test_an_idle_link_runs_ahead_by_one_burst_at_most() -> None:
    pacer = Pacer(1_000_000)
    run_data(pacer, [1000] * 10, START)

    went = run_data(pacer, [1000] * 30, START + 3600 * SECOND)

    at_once = sum(1 for instant in went if instant == went[0])
    assert at_once == 1_000_000 * BURST_NS // SECOND // 1000 + 1


def test_control_does_not_wait_for_a_large_data_message() -> None:
    pacer = Pacer(60_000)
    pacer.sent(600_000, DATA, START)

    assert pacer.ready_at(DATA) > START + 9 * SECOND
    assert pacer.ready_at(CONTROL) <= START


def test_data_pays_for_what_control_took() -> None:
    pacer = Pacer(1000)
    pacer.sent(1000, CONTROL, START)

    assert pacer.ready_at(DATA) == START + SECOND - BURST_NS


def test_control_alone_keeps_to_the_rate() -> None:
    pacer = Pacer(1000)
    pacer.sent(1000, CONTROL, START)
    pacer.sent(1000, CONTROL, START)

    assert pacer.ready_at(CONTROL) == START + 2 * SECOND - BURST_NS


def test_without_a_limit_nothing_waits() -> None:
    pacer = Pacer()
    pacer.sent(1 << 40, DATA, START)

    assert pacer.ready_at(DATA) <= START
    assert pacer.rate_bytes_per_s == 0


def test_a_faster_rate_shortens_what_is_reserved() -> None:
    pacer = Pacer(1000)
    pacer.sent(2000, DATA, START)

    pacer.set_rate(4000, START + SECOND)

    assert pacer.ready_at(DATA) == START + SECOND + SECOND // 4 - BURST_NS


def test_removing_the_limit_frees_the_link_and_a_new_limit_starts_with_a_free_link() -> None:
    pacer = Pacer(1)
    pacer.sent(1_000_000, DATA, START)

    pacer.set_rate(0, START)
    assert pacer.ready_at(DATA) <= START
    pacer.set_rate(1000, START)
    assert pacer.ready_at(DATA) <= START
