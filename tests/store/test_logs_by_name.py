"""Questions about logs, and about logs that do not exist."""

from penstock.core.intervals import Interval
from penstock.store.interface import LogBounds, LogSlice
from penstock.store.logs_by_name import LogsByName


class OneRecord:
    def __init__(self, *lost: Interval) -> None:
        self._lost = lost

    def read(self, low: int, high: int, max_bytes: int, max_records: int = 0) -> LogSlice[str]:
        return LogSlice([], low, high)

    def bounds(self) -> LogBounds:
        return LogBounds(1, 5, 100)

    def lost(self) -> tuple[Interval, ...]:
        return self._lost


class Logs(LogsByName[str, str]):
    def __init__(self) -> None:
        self._logs = {"b": OneRecord((1, 2)), "a": OneRecord()}


def test_logs_are_asked_by_name() -> None:
    logs = Logs()  # type: ignore[abstract]
    assert logs.log_names() == ["a", "b"]
    assert logs.read("a", 1, 3, 100) == LogSlice([], 1, 3)
    assert logs.bounds("a") == LogBounds(1, 5, 100)
    assert logs.lost() == {"b": ((1, 2),)}


def test_a_log_that_does_not_exist_is_empty() -> None:
    logs = Logs()  # type: ignore[abstract]
    assert logs.read("c", 4, 9, 100) == LogSlice([], 4, 4)
    assert logs.bounds("c") == LogBounds(0, 0, 0)
