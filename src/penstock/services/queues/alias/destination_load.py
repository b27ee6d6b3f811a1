"""What a destination says of its load when somebody asks for the status of the alias queue.

1. The reports of the control loop do not tell it: they end when nothing is produced, they may be
   forty seconds apart, and an alias queue with fixed weights gets none.
2. A status question has the alias queue ask its destinations, at most once in ``ASK_AGAIN_NS``.
   The answers are in the next status: a status is not delayed by a destination that does not
   answer.
3. An answer is kept with its time, and forgotten when the destination cannot be reached any more.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.services.queues.messages import LoadAnswer

ASK_AGAIN_NS: Final[Duration] = 250 * MILLISECOND
"""However often the status is asked for, each destination gets four questions a second at most."""


class DestinationLoad:
    """The latest answer of one destination."""

    __slots__ = ("_asked_at", "answer", "answered_at")

    def __init__(self) -> None:
        self.answer: LoadAnswer | None = None
        self.answered_at: Instant = 0
        self._asked_at: Instant | None = None

    def ask(self, now: Instant) -> bool:
        """Whether to ask now; if so, that is noted."""
        if self._asked_at is not None and now < self._asked_at + ASK_AGAIN_NS:
            return False
        self._asked_at = now
        return True

    def answered(self, answer: LoadAnswer, now: Instant) -> None:
        """Keep an answer."""
        self.answer = answer
        self.answered_at = now

    def forget(self) -> None:
        """The destination cannot be reached: ask at once when it can be reached again."""
        self.answer = None
        self._asked_at = None
