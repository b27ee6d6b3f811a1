"""One unit of ticks that an edge has requested, and where its answer came from."""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.laws.answer_round_trips import AnswerOrigin


class Request:
    """A unit, which may have been requested several times."""

    __slots__ = (
        "ahead_ns",
        "asked_high",
        "attempts",
        "deadline",
        "first_sent_at",
        "high",
        "is_new",
        "links",
        "low",
        "sent_at",
    )

    def __init__(
        self, low: Tick, high: Tick, asked_high: Tick, now: Instant, *, is_new: bool
    ) -> None:
        """``is_new`` is False if an earlier request for the same ticks may still be answered."""
        self.low = low
        self.high = high
        self.asked_high = asked_high
        self.is_new = is_new
        self.first_sent_at = now
        self.sent_at = now
        self.attempts = 0
        self.deadline = now
        self.links = -1
        """Over how many links the answer came, or the part of it that came farthest."""
        self.ahead_ns: Duration = 0

    def answered(self, origin: AnswerOrigin) -> None:
        """A part of the answer came from there."""
        if origin.links > self.links:
            self.links, self.ahead_ns = origin.links, origin.ahead_ns
        elif origin.links == self.links:
            self.ahead_ns = max(self.ahead_ns, origin.ahead_ns)

    @property
    def took_since(self) -> Instant:
        """When the request was sent that brought the answer, the first of all who wait for it."""
        return self.sent_at - self.ahead_ns
