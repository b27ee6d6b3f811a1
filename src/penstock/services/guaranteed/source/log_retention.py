"""How much of a pubend's log is kept.

1. Nothing that an edge claims is trimmed (penstock.services.guaranteed.source.holds).
2. What no edge claims stays for replay until it is older than ``retain_for_ns`` or the log is
   larger than ``retain_bytes``.
3. After a start nothing is trimmed for ``hold_expiry_ns``, unless the log is nearly full: edges
   that have not stated their claims yet may need it.
4. Nothing is trimmed that a restart needs to recognise repeats (``producer_checkpoint``).
5. A log of ``log_limit_bytes`` that may not be trimmed accepts nothing more.
"""

from __future__ import annotations

from collections import deque

from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds


class LogRetention:
    """The size of one log, and where it begins."""

    def __init__(
        self,
        parameters: GuaranteedParameters,
        holds: Holds,
        log_start: Tick,
        size_bytes: int,
        now: Instant,
    ) -> None:
        """``log_start`` and ``size_bytes`` describe the log that was found."""
        self.log_start = log_start
        self._parameters = parameters
        self._holds = holds
        self._appended_bytes = size_bytes
        self._trimmed_bytes = 0
        self._from: Instant = now + parameters.hold_expiry_ns
        self._marks: deque[tuple[Instant, Tick, int]] = deque()
        """At each look: the instant, the end of the stream, and the bytes appended by then."""
        self.look_at: Instant = now + parameters.acknowledge_interval_ns
        self.needs_checkpoint = False
        """Whether a log that is nearly full can be trimmed no further without a checkpoint."""

    def appended(self, weight: int) -> None:
        self._appended_bytes += weight

    @property
    def bytes(self) -> int:
        """The size of the log at present."""
        return self._appended_bytes - self._trimmed_bytes

    def is_full(self, weight: int) -> bool:
        """Whether ``weight`` more bytes exceed the limit."""
        return self.bytes + weight > self._parameters.log_limit_bytes

    def look_soon(self, now: Instant) -> None:
        """A claim was released, or a checkpoint saved: look at once what can be trimmed."""
        self.look_at = min(self.look_at, now)

    def trim(self, spoken_end: Tick, checkpointed: Tick, now: Instant) -> Tick:
        """Decide what is kept; returns the new start of the log.

        ``checkpointed`` is up to where the saved table of producers is right.
        """
        parameters = self._parameters
        self.look_at = now + parameters.acknowledge_interval_ns
        self._marks.append((now, spoken_end, self._appended_bytes))
        self.needs_checkpoint = False
        claimed = self._holds.lowest(now, parameters.hold_expiry_ns, spoken_end)
        while self._marks and (now >= self._from or self._is_nearly_full):
            at, tick, appended = self._marks[0]
            old = now - at >= parameters.retain_for_ns
            large = self._appended_bytes - appended > parameters.retain_bytes
            if tick > claimed or not (old or large):
                break
            if tick > checkpointed:
                self.needs_checkpoint = self._is_nearly_full
                break
            self.log_start = tick
            self._trimmed_bytes = appended
            self._marks.popleft()
        return self.log_start

    @property
    def _is_nearly_full(self) -> bool:
        return self.bytes * 10 > self._parameters.log_limit_bytes * 9
