"""How far behind the job of a cursor is: the answer to ``penstock why CURSOR``.

1. A cursor is behind by the time between its position on a stream and the last message there.
   Where only silence follows, it is not behind.
2. Its job moves it after each step.  The readers of the job are known by the name of its clients
   (``job_names``), and say what they wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.core.intervals import Tick
from penstock.services.guaranteed.edge.cursors import CursorState
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.edge.subscription_why import ReaderExplanation, explain_reader
from penstock.services.guaranteed.job_names import reads_for
from penstock.services.guaranteed.messages import StreamBounds


class CursorExplanation(msgspec.Struct, frozen=True):
    """The position of one cursor."""

    cursor: str
    broker: str
    behind_s: dict[str, float]
    """By stream, the furthest behind first."""
    moved_before_s: float | None
    """When its job last moved it; None if that was before the broker started."""
    readers: list[ReaderExplanation]
    cause: str


def explain_cursor(
    name: str,
    broker: str,
    state: CursorState,
    streams: Mapping[str, StreamBounds],
    subscriptions: Sequence[Subscription],
    horizons: Mapping[str, Tick],
    now: Instant,
) -> bytes:
    """The explanation as JSON."""
    behind = {
        pubend: in_seconds(_behind(tick, streams[pubend]))
        for pubend, tick in state.ticks.items()
        if pubend in streams
    }
    readers = [
        explain_reader(each, horizons, now) for each in subscriptions if reads_for(each.name, name)
    ]
    moved = None if state.moved_at is None else in_seconds(max(0, now - state.moved_at))
    explanation = CursorExplanation(
        name,
        broker,
        dict(sorted(behind.items(), key=lambda each: -each[1])),
        moved,
        readers,
        _cause(max(behind.values(), default=0.0), moved, readers),
    )
    return msgspec.json.encode(explanation)


def _behind(tick: Tick, bounds: StreamBounds) -> int:
    return max(0, bounds.rows_end - tick)


def _cause(behind_s: float, moved_before_s: float | None, readers: list[ReaderExplanation]) -> str:
    if not behind_s:
        return "nothing: its job has processed every message"
    if readers:
        return "its job is reading, at the pace that the network and the job allow"
    if moved_before_s is None:
        return "no job has moved it since this broker was started, and none reads now"
    return (
        "no reader of its job is connected: the job processes what it has read, waits for its "
        f"next step, or does not run; it last moved the cursor {moved_before_s:.0f} s ago"
    )
