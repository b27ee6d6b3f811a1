"""Tokens that publications take: Figure 3.

Tokens come at the allowed rate, up to a bound; a publication takes one.  The number in the bucket
tells how far the allowed rate is used: an empty bucket means that publications wait for tokens, a
full one that nobody wants them.
"""

from __future__ import annotations

from penstock.core.clock import SECOND, Instant


class TokenBucket:
    """A bucket that fills at a rate that may change."""

    __slots__ = ("_capacity", "_filled_at", "_rate_msgs_per_s", "_tokens")

    def __init__(
        self, capacity: int, rate_msgs_per_s: float, tokens: float, *, now: Instant
    ) -> None:
        """Begin with some tokens."""
        self._capacity = capacity
        self._rate_msgs_per_s = rate_msgs_per_s
        self._tokens = tokens
        self._filled_at = now

    @property
    def rate_msgs_per_s(self) -> float:
        """How fast tokens come."""
        return self._rate_msgs_per_s

    def set_rate(self, rate_msgs_per_s: float, *, now: Instant) -> None:
        """Tokens come at this rate from now on."""
        self._fill(now)
        self._rate_msgs_per_s = rate_msgs_per_s

    def tokens(self, *, now: Instant) -> float:
        """What is in the bucket."""
        self._fill(now)
        return self._tokens

    def take(self, *, now: Instant) -> bool:
        """Take a token if there is one."""
        self._fill(now)
        # Half a nanosecond's worth of tokens is rounding, not a missing token.
        if self._tokens < 1 - self._rate_msgs_per_s / SECOND:
            return False
        self._tokens = max(0.0, self._tokens - 1)
        return True

    def next_token(self) -> Instant:
        """When a token will be there."""
        missing = max(0.0, 1 - self._tokens)
        return self._filled_at + round(missing / self._rate_msgs_per_s * SECOND)

    def _fill(self, now: Instant) -> None:
        elapsed = now - self._filled_at
        if elapsed > 0:
            gained = elapsed / SECOND * self._rate_msgs_per_s
            self._tokens = min(float(self._capacity), self._tokens + gained)
            self._filled_at = now
