"""Filtered frames on the way to a child, joined so that their silence leaves the link to data.

A filter turns every frame without a wanted row into silence.  Sent frame by frame, the silence of
streams that a child does not want could take half of a thin link.

1. Filtered silence waits for the next frame that must be sent, which is extended to cover it, or
   until it has waited for ``interval_ns``: as long as an idle pubend waits before it says that it
   is silent.  A pubend never says nothing for longer, so no timer is needed.
2. Silence that the pubend itself says is sent at once.
3. What was silent under the selectors of a child is said before these change
   (``TreeRelay.update``): it may not be silence for others.
4. A final frame is not silence and is not joined.
"""

from __future__ import annotations

from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration, Instant
from penstock.core.machine import LinkName


class JoinedSilence:
    """The silence of one stream that its children have not been told yet."""

    __slots__ = ("_held", "_interval_ns")

    def __init__(self, interval_ns: Duration) -> None:
        self._interval_ns = interval_ns
        self._held: dict[LinkName, tuple[Frame, Instant]] = {}

    def filtered(self, link: LinkName, silent: Frame, now: Instant) -> list[Frame]:
        """A live frame holds nothing that this child wants; returns the frames to send now."""
        if silent.final:
            return self.joined(link, silent)
        held, since = self._held.get(link, (None, now))
        if held is not None and held.high != silent.low:
            # The child requests what lies between the two.
            self._held[link] = (silent, now)
            return [held]
        whole = silent if held is None else Frame(held.low, silent.high)
        if now - since >= self._interval_ns:
            del self._held[link]
            return [whole]
        self._held[link] = (whole, since)
        return []

    def joined(self, link: LinkName, frame: Frame) -> list[Frame]:
        """The frames to send instead of one that must be sent now."""
        held = self.take(link)
        if held is None:
            return [frame]
        if held.high != frame.low or frame.final:
            return [held, frame]
        return [Frame(held.low, frame.high, frame.ticks, frame.batch)]

    def take(self, link: LinkName) -> Frame | None:
        """What is held for a child, which is told now."""
        held = self._held.pop(link, None)
        return None if held is None else held[0]

    def forget(self, link: LinkName) -> None:
        """The child is gone."""
        self._held.pop(link, None)
