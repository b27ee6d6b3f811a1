"""How long to wait before the next attempt to connect.

1. The wait doubles with each attempt that failed, up to a bound.
2. It is drawn from the upper half of its range, so that clients that lost the same broker at the
   same instant do not all come back at the same instant.
3. A connection that lived for a second is replaced at once, and starts the waits anew.  One that
   did not is a failed attempt: a broker that accepts and hangs up is not hammered.
"""

from __future__ import annotations

from random import Random
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration

FIRST_WAIT: Final[Duration] = 50 * MILLISECOND
"""A broker that was restarted is usually back within a few of these."""

LONGEST_WAIT: Final[Duration] = 2 * SECOND
"""Short enough that a broker that is back is soon found; a thousand clients that wait for one make
it answer a thousand attempts a second at most, which costs it a few per cent."""

SUCCESS: Final[Duration] = 1 * SECOND
"""How long a connection must have lived to count as one."""


class BackOff:
    """The waits of one client."""

    __slots__ = ("_random", "_wait")

    def __init__(self, random: Random) -> None:
        """``random`` is a stream of this client alone."""
        self._random = random
        self._wait = FIRST_WAIT

    def next_wait(self) -> Duration:
        """How long to wait before the next attempt."""
        wait = self._wait
        self._wait = min(2 * wait, LONGEST_WAIT)
        return self._random.randint(wait // 2, wait)

    def wait_after(self, lived: Duration) -> Duration:
        """How long to wait after the loss of a connection that existed for so long."""
        if lived < SUCCESS:
            return self.next_wait()
        self._wait = FIRST_WAIT
        return 0
