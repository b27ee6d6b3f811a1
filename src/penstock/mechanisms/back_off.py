"""How long to wait before something that failed is tried again.

``BackOff`` is for connections: many participants try for ever, and must not try together.

1. The wait doubles with each attempt, from ``first`` up to ``longest``.
2. It is drawn at random from the upper half of its range, so that clients (or neighbours) that lost
   the same broker at the same instant do not all come back at the same instant.
3. A connection that lasted for ``settled`` is replaced at once, and starts the waits anew.  A
   shorter one is a failed attempt: a peer that accepts and hangs up is not called any faster than
   one that does not answer.

``LimitedBackOff`` is for one process that fails by itself, and gives up.

4. The wait doubles with each failure: most failures happen once, caused by one message, and the
   process is back before its clients give up.  A single process collides with no other, so the
   wait is not drawn at random.
5. A failure that returns after each start would make the process flap for ever.  The
   ``most_failures``-th failure within ``within`` is the last one.
6. Failures further back than ``within`` do not count.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

FIRST_WAIT: Final[Duration] = 50 * MILLISECOND
"""A broker that was restarted is usually back within a few of these."""

LONGEST_WAIT: Final[Duration] = 2 * SECOND
"""Short enough to find a broker soon after it is back.  A thousand clients that wait for one broker
cause a thousand attempts a second at most, which costs it a few per cent."""

SETTLED: Final[Duration] = 1 * SECOND
"""How long a connection must last to count as a success."""


class BackOff:
    """The waits of one participant; the defaults are those of a client."""

    __slots__ = ("_first", "_longest", "_random", "_settled", "_wait")

    def __init__(
        self,
        random: Random,
        *,
        first: Duration = FIRST_WAIT,
        longest: Duration = LONGEST_WAIT,
        settled: Duration = SETTLED,
        starts_at_once: bool = False,
    ) -> None:
        """``random`` is a stream of this participant alone.

        ``starts_at_once`` makes the first wait 0, for a caller that waits before each attempt
        rather than after each failure.
        """
        self._random = random
        self._first = first
        self._longest = longest
        self._settled = settled
        self._wait = 0 if starts_at_once else first

    def next_wait(self) -> Duration:
        """How long to wait before the next attempt."""
        wait = self._wait
        self._wait = min(max(2 * wait, self._first), self._longest)
        return self._random.randint(wait // 2, wait)

    def ended_after(self, lasted: Duration) -> None:
        """A connection ended that lasted this long (rule 3)."""
        if lasted >= self._settled:
            self.reset()

    def reset(self) -> None:
        """Make the next attempt at once and start the waits anew."""
        self._wait = 0

    def wait_after(self, lasted: Duration) -> Duration:
        """How long to wait after the loss of a connection that lasted this long."""
        self.ended_after(lasted)
        return self.next_wait()


class LimitedBackOff:
    """The waits of one process, until it gives up."""

    __slots__ = ("_failed_at", "_first", "_longest", "_most_failures", "_within")

    def __init__(
        self, *, first: Duration, longest: Duration, most_failures: int, within: Duration
    ) -> None:
        self._first = first
        self._longest = longest
        self._most_failures = most_failures
        self._within = within
        self._failed_at: deque[Instant] = deque(maxlen=most_failures)

    def wait_after_failure(self, now: Instant) -> Duration | None:
        """How long to wait after a failure at this instant; None means to give up."""
        failed_at = self._failed_at
        while failed_at and failed_at[0] <= now - self._within:
            failed_at.popleft()
        failed_at.append(now)
        count = len(failed_at)
        if count >= self._most_failures:
            return None
        return min(self._first << count - 1, self._longest)
