"""When to dial a neighbour again.

1. The pause doubles with every attempt, up to a bound, and is drawn from its upper half at random,
   so that the neighbours of a broker that comes back do not all call at the same moment.
2. Only a connection that has lasted as long as the longest pause starts the doubling anew: a peer
   that accepts and hangs up at once is not called any faster than one that does not answer.
"""

from __future__ import annotations

from random import Random

from penstock.core.clock import Duration, seconds
from penstock.net.broker.config import DialConfig


class BackOff:
    """The pauses between the attempts to reach one neighbour."""

    __slots__ = ("_config", "_next_s", "_random")

    def __init__(self, config: DialConfig, random: Random) -> None:
        """No attempt was made."""
        self._config = config
        self._random = random
        self._next_s = 0.0

    def pause_s(self) -> float:
        """How long to wait before the next attempt; the first one needs no waiting."""
        pause_s = self._next_s * self._random.uniform(0.5, 1.0)
        self._next_s = min(
            max(2 * self._next_s, self._config.first_delay_s), self._config.longest_delay_s
        )
        return pause_s

    def ended_after(self, lasted: Duration) -> None:
        """A connection has ended that lasted so long."""
        if lasted >= seconds(self._config.longest_delay_s):
            self.reset()

    def reset(self) -> None:
        """Begin again with no pause: there is a reason to hope."""
        self._next_s = 0.0
