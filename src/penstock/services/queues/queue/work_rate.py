"""How fast one consumer works, and how many of a queue's messages it should therefore have.

1. A consumer's rate is what it settled per second in which it had messages.  Older seconds fade, so
   that a consumer whose speed changes is believed after some seconds of work.
2. All consumers of a queue should finish at the same time: a consumer gets at most its part of what
   is unfinished, in flight or waiting, where its part is that of its rate in the sum of all rates.
   A consumer of 20 messages a second beside one of 300 would otherwise hold a prefetch of 200 for
   ten seconds while the other has nothing to do.
3. A consumer whose rate is not known counts as average.  Each consumer may have one message.
"""

from __future__ import annotations

from math import ceil, exp
from typing import Final

from penstock.core.clock import Duration, Instant, in_seconds

FADES_S: Final = 5.0
"""The memory of a rate.  It is the time in which an alias queue corrects backlogs
(``laws/shares``), so that both follow a change of the consumers equally fast."""


class WorkRate:
    """The rate of one consumer."""

    __slots__ = ("_busy_s", "_since", "_work", "msgs_per_s")

    def __init__(self) -> None:
        """The rate is not known before the first settlement."""
        self.msgs_per_s: float | None = None
        self._since: Instant = 0
        self._work = 0.0
        self._busy_s = 0.0

    def begin(self, now: Instant) -> None:
        """A consumer that had nothing got messages."""
        self._since = now

    def settled(self, count: int, now: Instant) -> None:
        """The consumer, which had messages until now, settled so many."""
        elapsed_ns: Duration = max(now - self._since, 0)
        self._since = now
        elapsed_s = in_seconds(elapsed_ns)
        kept = exp(-elapsed_s / FADES_S)
        self._work = kept * self._work + count
        self._busy_s = kept * self._busy_s + elapsed_s
        if self._busy_s > 0:
            self.msgs_per_s = self._work / self._busy_s


def fair_part(
    unfinished: int, rate: float | None, known_sum: float, known: int, consumers: int
) -> int:
    """How many of the unfinished messages a consumer should have at most.

    ``known_sum`` is the sum of the ``known`` rates.
    """
    if not known or known_sum <= 0:
        return unfinished
    usual = known_sum / known
    total = known_sum + usual * (consumers - known)
    part = (usual if rate is None else rate) / total
    return max(1, ceil(unfinished * part))
