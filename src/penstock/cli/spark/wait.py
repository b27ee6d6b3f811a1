"""Waits for a streaming query in a command."""

from __future__ import annotations

import signal
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY_S: Final = 0.5
"""How soon a signal is noticed: Python handles signals only between two calls into the JVM."""


def wait_for(query: StreamingQuery) -> None:
    """Wait until the query ends, fails or is interrupted by SIGINT or SIGTERM."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    before = [(number, signal.signal(number, stop)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        while not stopping and not query.awaitTermination(LOOK_EVERY_S):  # type: ignore[arg-type]
            pass
        query.stop()
    finally:
        for number, handler in before:
            signal.signal(number, handler)
