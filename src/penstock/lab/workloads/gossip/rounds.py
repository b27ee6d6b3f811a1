"""The rounds that a peer did not run: a busy machine skips rounds, and then loses events.

The peer records how many rounds it has run.  What a clock would have run since its first record,
less that, is what it skipped.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.trace import TraceRecord
from penstock.services.gossip.telemetry import ROUNDS

SKIPPED: Final = "skipped_rounds"


class RoundCount:
    """Counts the skipped rounds of one peer from its records."""

    def __init__(self, period: Duration) -> None:
        self._period = period
        self._first: tuple[Instant, float] | None = None

    def skipped(self, record: TraceRecord) -> TraceRecord | None:
        """The record to add to a peer's record of its rounds; None for its other records."""
        if record.metric != ROUNDS:
            return None
        if self._first is None:
            self._first = (record.at, record.value)
        first_at, first_round = self._first
        expected = first_round + round((record.at - first_at) / self._period)
        skipped = max(0.0, expected - record.value)
        return msgspec.structs.replace(record, metric=SKIPPED, value=skipped)
