from __future__ import annotations

import pytest

from penstock.core.clock import HOUR, MILLISECOND, MINUTE, SECOND
from penstock.core.duration_text import parse_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("500ms", 500 * MILLISECOND),
        ("1.5 minutes", 90 * SECOND),
        ("2m", 2 * MINUTE),
        (" 1 Hour ", HOUR),
        ("90d", 90 * 24 * HOUR),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, duration: int) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "5", "h", "-1s", "3 weeks", "1h30m"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="use a duration like 500ms, 30s, 15m, 1h or 90d"):
        parse_duration(text)
