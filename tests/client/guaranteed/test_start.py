from datetime import UTC, datetime, timedelta, timezone

import pytest

from penstock.client.guaranteed.start import Start, parse_start


def test_rules_by_name() -> None:
    assert parse_start("now") == Start("now")
    assert parse_start("earliest") == Start("earliest")


def test_a_time_is_a_tick_whatever_its_zone() -> None:
    time = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    start = parse_start(time)
    assert start == Start("time", 1767323045_678901_000)
    assert parse_start(time.astimezone(timezone(timedelta(hours=5)))) == start


def test_positions_are_copied() -> None:
    positions = {"a.1": 7}
    start = parse_start(positions)
    positions["a.1"] = 8
    assert start == Start("now", 0, {"a.1": 7})


def test_what_is_no_start_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="earliest"):
        parse_start("yesterday")
    with pytest.raises(ValueError, match="time zone"):
        parse_start(datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="int"):
        parse_start(3)  # type: ignore[arg-type]
