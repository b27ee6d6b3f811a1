"""Detects senders that do not react to delay, such as TCP, beside which a delay law starves.

1. One is there if this flow gives way in vain: it has less than ``GIVEN_WAY`` of the rate that it
   had when an episode of high delay began, and the delay is still high, for ``PERSISTENT_NS``
   longer than not.
2. A delay is high if it is ``HIGH`` times what the delay law wants at the present rate, and more
   than half of the longest of the last minutes: a crowd of thin flows that keep to the law holds a
   longer queue than a thick one, but does not fill it again and again.
3. While the delay is high a flow gives way to ``LEAST_PART`` and no further.
4. An episode is over when the delay was not high for ``QUIET_NS``: TCP lets the queue drain now and
   then, and who took its own reduced rate for the beginning each time would give way for ever.
5. The delay law steps back until the next multiple of ``ALONE_NS`` by the clock, and is then tried
   again, whatever was lost meanwhile: flows that took each other for a rival return together.
   Losses alone are no sign of a rival; many flows that begin at once lose messages too.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

HIGH: Final = 3.0
"""Flows that all keep to the law hold the delay within a factor of 2 of what they want."""

GIVEN_WAY: Final = 0.55
LEAST_PART: Final = 0.4
"""A fifth less than what a link that has lost half of its capacity carries, so that a full queue of
a fifth of a second drains to half well within ``PERSISTENT_NS``."""

REMEMBERED: Final = 0.95
"""What is left of a rate at the next decision: the delay becomes high a few decisions after another
sender has begun to take its part, and the rate before that is the one that counts."""

PERSISTENT_NS: Final[Duration] = 2 * SECOND
"""Flows that all keep to the law drain a full queue in a second or two."""

QUIET_NS: Final[Duration] = 2 * SECOND
"""A TCP flow that has lost much stops for its least time-out, a second, and begins slowly."""

ALONE_NS: Final[Duration] = 32 * SECOND
"""An attempt in vain costs half of the rate for two seconds: 3 % of this."""

LONGEST_LOOK_NS: Final[Duration] = 100 * MILLISECOND
"""A thin flow looks at the queue when a message comes; what was before is not known."""


class Rivals:
    """What one session knows of senders that ignore the delay."""

    __slots__ = ("_alone_until", "_episode_until", "_high_rate", "_in_vain_ns", "_looked_at")

    def __init__(self) -> None:
        self._alone_until: Instant = 0
        self._episode_until: Instant = 0
        self._high_rate = 0.0
        self._in_vain_ns: Duration = 0
        self._looked_at: Instant = 0

    def present(self, now: Instant) -> bool:
        """Whether the delay law is out of force."""
        return now < self._alone_until

    def look(self, rate_msgs_per_s: float, *, high: bool, now: Instant) -> None:
        """Take in the rate and the delay at a decision."""
        elapsed_ns = min(now - self._looked_at, LONGEST_LOOK_NS)
        self._looked_at = now
        if self._episode_until < now:
            self._in_vain_ns = 0
            self._high_rate = max(rate_msgs_per_s, REMEMBERED * self._high_rate)
        if high:
            self._episode_until = now + QUIET_NS
        if not high or rate_msgs_per_s >= GIVEN_WAY * self._high_rate:
            self._in_vain_ns = max(0, self._in_vain_ns - elapsed_ns)
            return
        self._in_vain_ns += elapsed_ns
        if self._in_vain_ns > PERSISTENT_NS:
            self._episode_until = 0
            self._alone_until = (now // ALONE_NS + 1) * ALONE_NS

    def least_rate(self, *, high: bool) -> float:
        """How far a flow gives way (rule 3)."""
        return LEAST_PART * self._high_rate if high else 0.0
