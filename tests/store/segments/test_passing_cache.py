from pathlib import Path

from penstock.store.segments.passing_cache import PASSING_S, STEP_BYTES, PassingCache, Stretch

FIRST, SECOND = Path("1.segment"), Path("2.segment")


def test_the_end_of_a_log_stays() -> None:
    cache = PassingCache(2 * STEP_BYTES)
    assert cache.written(FIRST, STEP_BYTES - 1, 0.0) == []
    assert cache.written(FIRST, STEP_BYTES, 0.0) == []
    assert cache.written(FIRST, 2 * STEP_BYTES + 5, 0.0) == []


def test_what_passes_quickly_is_given_back_in_whole_steps() -> None:
    cache = PassingCache(2 * STEP_BYTES)
    cache.written(FIRST, STEP_BYTES + 7, 0.0)
    cache.written(FIRST, 2 * STEP_BYTES, 0.1)
    assert cache.written(FIRST, 3 * STEP_BYTES + 1, 0.2) == [Stretch(FIRST, 0, STEP_BYTES, 0.0)]
    assert cache.written(FIRST, 3 * STEP_BYTES + 2, 0.2) == []
    assert cache.written(FIRST, 5 * STEP_BYTES, 0.3) == [
        Stretch(FIRST, STEP_BYTES, 2 * STEP_BYTES, 0.1),
        Stretch(FIRST, 2 * STEP_BYTES, 3 * STEP_BYTES, 0.2),
    ]


def test_what_passes_slowly_is_left_to_the_kernel() -> None:
    cache = PassingCache(STEP_BYTES)
    cache.written(FIRST, STEP_BYTES, 0.0)
    assert cache.written(FIRST, 2 * STEP_BYTES, PASSING_S) == []
    # It does not come up again when the log is written faster.
    later_s = PASSING_S + 0.1
    expected = [Stretch(FIRST, STEP_BYTES, 2 * STEP_BYTES, PASSING_S)]
    assert cache.written(FIRST, 3 * STEP_BYTES, later_s) == expected


def test_the_window_reaches_over_segments() -> None:
    cache = PassingCache(STEP_BYTES)
    cache.written(FIRST, STEP_BYTES, 0.0)
    assert cache.written(SECOND, 100, 0.0) == []
    assert cache.written(SECOND, STEP_BYTES, 0.1) == [Stretch(FIRST, 0, STEP_BYTES, 0.0)]
