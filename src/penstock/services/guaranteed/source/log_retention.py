"""How much of a pubend's log is kept.

1. Nothing is given up that an edge claims (penstock.services.guaranteed.source.holds).
2. What nobody claims stays for replay until it is older than ``retain_for_ns`` or the log is larger
   than ``retain_bytes``.
3. After a start nothing is given up for ``hold_expiry_ns``, unless the log is nearly full: edges
   that have not been heard yet may need it.
4. A log of ``log_limit_bytes`` that may not be trimmed takes nothing more.
"""

from __future__ import annotations

from collections import deque

from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds


class LogRetention:
    """The size of one log, and from where on it is kept."""

    def __init__(
        self, parameters: GuaranteedParameters, holds: Holds, size_bytes: int, now: Instant
    ) -> None:
        """The log that was found has so many bytes."""
        self._parameters = parameters
        self._holds = holds
        self._appended_bytes = size_bytes
        self._trimmed_bytes = 0
        self._from: Instant = now + parameters.hold_expiry_ns
        self._marks: deque[tuple[Instant, Tick, int]] = deque()
        """Now and then where the stream stood, and how much had been appended by then."""
        self.look_at: Instant = now + parameters.acknowledge_interval_ns

    def appended(self, weight: int) -> None:
        """So many bytes are in the log."""
        self._appended_bytes += weight

    @property
    def bytes(self) -> int:
        """What the log holds at present."""
        return self._appended_bytes - self._trimmed_bytes

    def is_full(self, weight: int) -> bool:
        """Whether so many bytes more are too many."""
        return self.bytes + weight > self._parameters.log_limit_bytes

    def claim_released(self, now: Instant) -> None:
        """An edge needs nothing of the log any more: see at once what can be given up."""
        self.look_at = min(self.look_at, now)

    def trim_below(self, log_start: Tick, spoken_end: Tick, now: Instant) -> Tick:
        """The tick below which nothing is kept any more; the start of the log if all is kept."""
        parameters = self._parameters
        self.look_at = now + parameters.acknowledge_interval_ns
        self._marks.append((now, spoken_end, self._appended_bytes))
        claimed = self._holds.lowest(now, parameters.hold_expiry_ns, spoken_end)
        below = log_start
        while self._marks and (now >= self._from or self._is_nearly_full):
            at, tick, appended = self._marks[0]
            old = now - at >= parameters.retain_for_ns
            large = self._appended_bytes - appended > parameters.retain_bytes
            if tick > claimed or not (old or large):
                break
            below = tick
            self._trimmed_bytes = appended
            self._marks.popleft()
        return below

    @property
    def _is_nearly_full(self) -> bool:
        return self.bytes * 10 > self._parameters.log_limit_bytes * 9
