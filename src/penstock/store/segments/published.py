"""What readers see of a log: its segments, where it begins and ends, and what of it is lost.

The commit thread publishes under the lock, and only what is durable; any thread looks things up
under the lock.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from threading import Lock

from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.store.interface import LogBounds, LogName
from penstock.store.segments.log_account import LogAccount
from penstock.store.segments.scan import Damage
from penstock.store.segments.segment import Segment, WrittenGroup

logger = logging.getLogger(__name__)


class PublishedLog:
    """The durable part of one log."""

    def __init__(
        self, name: LogName, segments: list[Segment], trimmed_below: Tick, account: LogAccount
    ) -> None:
        """``account`` is what the state says of the log."""
        self.name = name
        self.lock = Lock()
        self.segments = segments
        base_tick = segments[0].header.base_tick if segments else 0
        self.first_low = max(trimmed_below, base_tick)
        self.record_high = segments[-1].high if segments else 0
        self.known_end = account.end
        self._missing = IntervalSet(account.lost)
        missing_from = max(self.record_high, self.first_low)
        if missing_from < account.end:
            self._missing.add(missing_from, account.end)
        self._missing.remove(0, self.first_low)
        self._lost = IntervalSet(self._missing)

    @property
    def end_high(self) -> Tick:
        """The end of the log: of its records, of what was trimmed or of what is lost."""
        return max(self.record_high, self.first_low, self.known_end)

    def bounds(self) -> LogBounds:
        """What the log holds."""
        with self.lock:
            stored_bytes = sum(segment.stored_bytes for segment in self.segments)
            return LogBounds(self.first_low, self.end_high, stored_bytes)

    # -- losses -------------------------------------------------------------------------------

    def lost(self) -> tuple[Interval, ...]:
        """What is known to be damaged or missing."""
        with self.lock:
            return tuple(self._lost)

    def missing(self) -> tuple[Interval, ...]:
        """The part of ``lost`` that the log's files do not show, so that the state must say it."""
        with self.lock:
            return tuple(self._missing)

    def lost_within(self, low: Tick, high: Tick) -> IntervalSet:
        """What is lost of an interval."""
        if not self._lost:
            return IntervalSet()
        with self.lock:
            return IntervalSet(self._lost.within(low, high))

    def note_damage(self, damage: Iterable[Damage]) -> None:
        """Remember what is lost, and log what was not known before."""
        for each in damage:
            with self.lock:
                known = self._lost.covers(each.low, each.high)
                self._lost.add(each.low, each.high)
            if not known:
                logger.error(
                    "log %r: %s is damaged at offset %d: the ticks [%d, %d) are lost; readers are "
                    "told so and go on behind them. Restore the file from a copy while the broker "
                    "is stopped, or see penstock log check",
                    self.name,
                    each.path,
                    each.offset,
                    each.low,
                    each.high,
                )

    # -- what the commit thread changes ---------------------------------------------------------

    def trim(self, below: Tick) -> bool:
        """Discard what lies below a tick, as far as it is durable; False if that is nothing."""
        with self.lock:
            below = min(below, max(self.record_high, self.known_end))
            if below <= self.first_low:
                return False
            self.first_low = below
            self._lost.remove(0, below)
            self._missing.remove(0, below)
            return True

    def add_segment(self, segment: Segment) -> None:
        """A new last segment, without records yet."""
        with self.lock:
            self.segments.append(segment)

    def publish(self, group: WrittenGroup, high: Tick) -> None:
        """Show the records of a group, which is durable now, up to the tick ``high``."""
        with self.lock:
            segment = self.segments[-1]
            contents = segment.contents
            assert contents is not None, "the last segment was scanned or is new"
            for low, offset in group.placed:
                contents.index.note(low, offset)
            contents.end = group.end
            segment.high = self.record_high = high

    def take_trimmed(self) -> list[Segment]:
        """Remove the segments that lie below the trim."""
        with self.lock:
            keep_from = self.position(self.first_low)
            trimmed = self.segments[:keep_from]
            del self.segments[:keep_from]
        return trimmed

    def put_back(self, trimmed: Sequence[Segment]) -> None:
        """Trimmed segments that could not be given back yet."""
        with self.lock:
            self.segments[:0] = trimmed

    # -- what readers look up ---------------------------------------------------------------------

    def holds(self, segment: Segment) -> bool:
        """Whether a segment is still part of the log."""
        with self.lock:
            return segment in self.segments

    def position(self, tick: Tick) -> int:
        """Which segment holds a tick, at or above the first one's start (the lock is held)."""
        return max(bisect_right(self.segments, tick, key=_base_tick) - 1, 0)


def _base_tick(segment: Segment) -> Tick:
    return segment.header.base_tick
