from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.clock_skew import (
    TOLERATED,
    ahead_of,
    describe_ahead,
    span,
)


def test_a_stream_may_end_a_little_in_the_future() -> None:
    assert ahead_of(100, 100 + TOLERATED) == 0
    assert ahead_of(100, 101 + TOLERATED) == TOLERATED + 1
    assert ahead_of(100, 0) == 0


@pytest.mark.parametrize(
    ("duration", "shown"), [(90 * SECOND, "90 s"), (2 * 86_400 * SECOND, "2.0 days")]
)
def test_a_span_is_shown_in_seconds_or_days(duration: int, shown: str) -> None:
    assert span(duration) == shown


def test_an_operator_is_told_both_times() -> None:
    text = describe_ahead("p", 3600 * SECOND, 1800 * SECOND)

    assert "pubend 'p' is ahead of this broker's clock by 1800 s" in text
    assert "1970-01-01 01:00:00" in text
    assert "1970-01-01 00:30:00" in text
