"""A token bucket: how many messages may be sent at a rate that can change.

1. Tokens arrive continuously at ``rate_msgs_per_s``.  A message takes one token; without one it
   waits.
2. The bucket holds at most ``capacity`` tokens: ``least_capacity``, or the tokens of ``depth_ns``
   where those are more.  A fixed capacity (``depth_ns`` 0) also tells how far the allowed rate is
   used, as the gossip paper needs it (Figure 3): an empty bucket means that messages wait, a full
   one that the rate is not used.  A capacity that grows with the rate lets a sender that wakes up
   late catch up at every rate, without a burst that would fill a queue on the way.
3. In any interval no more messages are sent than ``rate × time + capacity``.
4. A new rate applies from the instant at which it is set.  Tokens above the new capacity are lost.
5. Instants are whole nanoseconds, so a token can be short by what arrives in one of them; the
   bucket counts such a token as present.

``TokenBuckets`` are thousands of buckets of one shape as columns of numbers: 24 bytes each, where
an object takes 150.  A test holds both forms against each other.

Use a bucket where messages are counted and a short burst is harmless.  Where bytes must leave
evenly, use ``penstock.mechanisms.pacer``.
"""

from __future__ import annotations

from array import array

from penstock.core.clock import SECOND, Duration, Instant


class TokenBucket:
    """Tokens for one sender or one flow."""

    __slots__ = (
        "_capacity",
        "_depth_ns",
        "_filled_at",
        "_least_capacity",
        "_rate_msgs_per_s",
        "_tokens",
    )

    def __init__(
        self,
        rate_msgs_per_s: float,
        *,
        tokens: float,
        least_capacity: float,
        depth_ns: Duration = 0,
        now: Instant,
    ) -> None:
        """``tokens`` is how many the bucket holds at the start."""
        self._least_capacity = float(least_capacity)
        self._depth_ns = depth_ns
        self._tokens = tokens
        self._filled_at = now
        self._use_rate(rate_msgs_per_s)

    @property
    def rate_msgs_per_s(self) -> float:
        """How fast tokens arrive."""
        return self._rate_msgs_per_s

    @property
    def capacity(self) -> float:
        """How many tokens the bucket holds at most."""
        return self._capacity

    def set_rate(self, rate_msgs_per_s: float, now: Instant) -> None:
        """Tokens arrive at this rate from now on."""
        self._fill(now)
        self._use_rate(rate_msgs_per_s)
        self._tokens = min(self._tokens, self._capacity)

    def tokens(self, now: Instant) -> float:
        """How many tokens the bucket holds."""
        self._fill(now)
        return self._tokens

    def ready(self, now: Instant) -> bool:
        """Whether a message may be sent."""
        self._fill(now)
        return self._tokens >= 1 - self._rate_msgs_per_s / SECOND

    def take(self) -> None:
        """Take a token; ``ready`` has said that it is there."""
        self._tokens = max(0.0, self._tokens - 1)

    def take_if_ready(self, now: Instant) -> bool:
        """Take a token if there is one; False if there is none."""
        if not self.ready(now):
            return False
        self.take()
        return True

    def ready_at(self) -> Instant:
        """When the next token will be there."""
        missing = max(0.0, 1 - self._tokens)
        return self._filled_at + round(missing / self._rate_msgs_per_s * SECOND)

    def _use_rate(self, rate_msgs_per_s: float) -> None:
        self._rate_msgs_per_s = rate_msgs_per_s
        self._capacity = max(self._least_capacity, rate_msgs_per_s * self._depth_ns / SECOND)

    def _fill(self, now: Instant) -> None:
        elapsed = now - self._filled_at
        if elapsed > 0:
            gained = elapsed * self._rate_msgs_per_s / SECOND
            self._tokens = min(self._capacity, self._tokens + gained)
            self._filled_at = now


class TokenBuckets:
    """Buckets by number, each with a rate of its own."""

    __slots__ = ("_depth_ns", "_filled_at", "_least_capacity", "_rates", "_tokens")

    def __init__(self, *, least_capacity: float, depth_ns: Duration = 0) -> None:
        """No bucket yet."""
        self._least_capacity = float(least_capacity)
        self._depth_ns = depth_ns
        self._rates = array("d")
        self._tokens = array("d")
        self._filled_at = array("q")

    def append(self) -> None:
        """Add a bucket under the next number; ``start`` gives it a rate."""
        self._rates.append(0.0)
        self._tokens.append(0.0)
        self._filled_at.append(0)

    def start(self, number: int, rate_msgs_per_s: float, *, tokens: float, now: Instant) -> None:
        """Begin with so many tokens, whatever the bucket held."""
        self._rates[number] = rate_msgs_per_s
        self._tokens[number] = tokens
        self._filled_at[number] = now

    def rate_msgs_per_s(self, number: int) -> float:
        """How fast tokens arrive."""
        return self._rates[number]

    def set_rate(self, number: int, rate_msgs_per_s: float, now: Instant) -> None:
        """Tokens arrive at this rate from now on."""
        tokens = self.tokens(number, now)
        self._rates[number] = rate_msgs_per_s
        self._tokens[number] = min(tokens, self._capacity(rate_msgs_per_s))

    def tokens(self, number: int, now: Instant) -> float:
        """How many tokens the bucket holds."""
        elapsed = now - self._filled_at[number]
        held = self._tokens[number]
        if elapsed > 0:
            rate = self._rates[number]
            held += elapsed * rate / SECOND
            # Most buckets have the least capacity, and a call of min or max costs as much as the
            # rest of this.
            if held > self._least_capacity:
                held = min(held, self._capacity(rate))
            self._tokens[number] = held
            self._filled_at[number] = now
        return held

    def ready(self, number: int, now: Instant) -> bool:
        """Whether a message may be sent."""
        return self.tokens(number, now) >= 1 - self._rates[number] / SECOND

    def take(self, number: int) -> None:
        """Take a token; ``ready`` has said that it is there."""
        left = self._tokens[number] - 1
        self._tokens[number] = left if left > 0 else 0.0

    def ready_at(self, number: int) -> Instant:
        """When the next token will be there."""
        missing = max(0.0, 1 - self._tokens[number])
        return self._filled_at[number] + round(missing / self._rates[number] * SECOND)

    def _capacity(self, rate_msgs_per_s: float) -> float:
        return max(self._least_capacity, rate_msgs_per_s * self._depth_ns / SECOND)
