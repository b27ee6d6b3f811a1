"""The tokens of one controlled flow (Section III-B 8).

Tokens come at the flow's quota; each publication of the flow takes one.  The bucket holds at least
two and otherwise ``DEPTH_NS`` worth of quota: enough that a publisher which wakes up late loses
nothing, too little for a burst that would fill a queue on the way.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

DEPTH_NS: Final[Duration] = 50 * MILLISECOND
LEAST_DEPTH: Final = 2.0


class FlowTokens:
    """A bucket that fills at a quota that may change."""

    __slots__ = ("_filled_at", "_quota_msgs_per_s", "_tokens")

    def __init__(self, quota_msgs_per_s: float, now: Instant) -> None:
        """One token is there, so that a flow is not stopped by being controlled."""
        self._quota_msgs_per_s = quota_msgs_per_s
        self._tokens = 1.0
        self._filled_at = now

    @property
    def quota_msgs_per_s(self) -> float:
        """How fast tokens come."""
        return self._quota_msgs_per_s

    @property
    def depth(self) -> float:
        """How many tokens the bucket holds."""
        return max(LEAST_DEPTH, self._quota_msgs_per_s * DEPTH_NS / SECOND)

    def set_quota(self, quota_msgs_per_s: float, now: Instant) -> None:
        """Tokens come at this rate from now on."""
        self._fill(now)
        self._quota_msgs_per_s = quota_msgs_per_s
        self._tokens = min(self._tokens, self.depth)

    def ready(self, now: Instant) -> bool:
        """Whether a token is there."""
        self._fill(now)
        # What comes within a nanosecond is rounding, not a missing token.
        return self._tokens >= 1 - self._quota_msgs_per_s / SECOND

    def take(self) -> None:
        """Take a token that is there."""
        self._tokens = max(0.0, self._tokens - 1)

    def ready_at(self) -> Instant:
        """When a token will be there."""
        missing = max(0.0, 1 - self._tokens)
        return self._filled_at + round(missing / self._quota_msgs_per_s * SECOND)

    def _fill(self, now: Instant) -> None:
        elapsed = now - self._filled_at
        if elapsed > 0:
            gained = elapsed * self._quota_msgs_per_s / SECOND
            self._tokens = min(self.depth, self._tokens + gained)
            self._filled_at = now
