from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.mechanisms.lateness import WINDOW_NS, Lateness


def test_the_longest_delay_of_the_recent_past_is_kept() -> None:
    late = Lateness()
    assert late.worst(0) == 0
    late.woken(SECOND, SECOND + 300 * MILLISECOND)
    late.woken(2 * SECOND, 2 * SECOND + 5)
    late.woken(None, 3 * SECOND)
    assert late.worst(3 * SECOND) == 300 * MILLISECOND


def test_it_is_forgotten_after_one_to_two_windows() -> None:
    late = Lateness()
    late.woken(0, 200)
    assert late.worst(WINDOW_NS - 1) == 200
    assert late.worst(WINDOW_NS + 300) == 200
    assert late.worst(2 * WINDOW_NS + 600) == 0


def test_a_delay_before_a_long_rest_is_forgotten() -> None:
    late = Lateness()
    late.woken(0, 200)
    assert late.worst(3 * WINDOW_NS) == 0
