"""Holds publications back while a link is full of the pubend's live data.

1. What may wait on each link of this broker is decided by ``laws/link_backlog``.  Publications pass
   while no link is full; the next measurement opens the gate again.  For links further down the
   tree, reports of the relays set a pace (``laws/link_pace``).
2. What was published and is not on the links yet, because it is on its way to the disk, counts by
   the share of the stream that a link was given lately: its subscribers may want little of it.
3. A link that is lost is forgotten.
4. If publications waited at this gate at every measurement for ``HELD_NS``, its link is the reason
   why a publisher is slow; when none waited for as long, no longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.services.guaranteed.laws.link_backlog import LinkBacklog
from penstock.services.guaranteed.laws.link_pace import QUIET_NS, SETTLE_NS, FullLink, LinkPace
from penstock.services.guaranteed.links import LOCAL_EDGE

HELD_NS: Final[Duration] = SETTLE_NS
"""A gate that is closed for a moment paces bursts, or a link is shared by those that have just
started; nobody needs to be told."""

TELL_AGAIN_NS: Final[Duration] = 2 * SECOND
TELL_CHANGE: Final = 0.1
"""A link whose rate has changed by a tenth is told again, at most every two seconds."""

SHARE_KEPT: Final = 0.9
"""Weight of the past in the share of the stream that a link is given, for each batch."""


class _Link:
    __slots__ = ("backlog", "share")

    def __init__(self, now: Instant) -> None:
        self.backlog = LinkBacklog(now)
        self.share = 1.0


class LinkGate:
    """The gate of one pubend."""

    def __init__(self, pubend: str, *, enabled: bool) -> None:
        """Links must be fair for the flow of a pubend to be measured by itself."""
        self._pubend = pubend
        self._enabled = enabled
        self._children: Mapping[LinkName, object] = {}
        self._links: dict[LinkName, _Link] = {}
        self.pace = LinkPace()
        self._open_at: Instant | None = None
        """When the gate was last seen open."""
        self._closed_at: Instant | None = None
        self._last_full: FullLink | None = None
        self.full: FullLink | None = None
        """The link that publications wait for, as it was when they began to."""

    def follow(self, children: Mapping[LinkName, object]) -> None:
        """The links that the stream takes, kept up to date by the owner."""
        self._children = children

    def sent(self, whole_bytes: int, by_link: Mapping[LinkName, int], now: Instant) -> None:
        """A batch of ``whole_bytes`` was stored, and these parts of it were put on links."""
        if not self._enabled:
            return
        for link, count_bytes in by_link.items():
            known = self._link(link, now)
            known.backlog.sent(count_bytes)
            if whole_bytes:
                share = count_bytes / whole_bytes
                known.share = SHARE_KEPT * known.share + (1 - SHARE_KEPT) * share

    def takes(self, unsent: int, now: Instant) -> bool:
        """Whether the broker's links take more, while ``unsent`` bytes are not durable yet."""
        return not self._enabled or self._first_full(unsent, now) is None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to measure and nothing to tell."""
        if self.full is not None or self._closed_at is not None:
            return False
        return all(each.backlog.is_idle for each in self._links.values())

    def holds_until(self) -> Instant:
        """When the pace lets the next publication pass."""
        return self.pace.next_pass

    def passed(self, count_bytes: int, now: Instant) -> None:
        """A publication of so many bytes has passed."""
        self.pace.passed(count_bytes, now)

    def reported(self, link: str, waiting: int, rate_bytes_per_s: float, now: Instant) -> None:
        """A relay reports a full link."""
        if self._enabled:
            self.pace.reported(link, waiting, rate_bytes_per_s, now)

    def watches(self, link: str, broker: str, now: Instant) -> bool:
        """Whether this gate looks after a link ``FROM->TO`` that an alert blames."""
        if self.pace.is_reported(link, now):
            return True
        here, _, there = link.partition("->")
        return self._enabled and here == broker and there in self._children

    def _first_full(self, unsent: int, now: Instant) -> LinkName | None:
        for name in self._children:
            if name == LOCAL_EDGE:
                continue
            link = self._link(name, now)
            if link.backlog.is_full(unsent * link.share, now):
                return name
        return None

    def _link(self, name: LinkName, now: Instant) -> _Link:
        known = self._links.get(name)
        if known is None:
            known = self._links[name] = _Link(now)
        return known

    def measured(self, flow_bytes: Mapping[LinkName, Mapping[str, int]], now: Instant) -> None:
        """The links were measured."""
        for name, link in self._links.items():
            link.backlog.measured(flow_bytes.get(name, {}).get(self._pubend, 0), now)

    def forget(self, link: LinkName) -> None:
        """The link is lost, or the stream does not take it any more."""
        self._links.pop(link, None)

    def explain(self, broker: str, waits: bool, unsent: int, now: Instant) -> bool:
        """Update ``full``; True if there is something new to tell.

        ``waits`` tells whether publications wait for this gate.
        """
        found = self._binding(broker, unsent, now) if waits else None
        if found is not None:
            self._last_full = found
        elif waits and self._last_full is not None and now - self._last_full.at < QUIET_NS:
            # The measurement itself has just opened the gate.
            found = self._last_full
        if found is None:
            self._closed_at = None
            self._open_at = now if self._open_at is None else self._open_at
            if self.full is None or now - self._open_at < HELD_NS:
                return False
            self.full = None
            return True
        self._open_at = None
        self._closed_at = now if self._closed_at is None else self._closed_at
        if now - self._closed_at < HELD_NS or not self._is_news(found):
            return False
        self.full = found
        return True

    def _binding(self, broker: str, unsent: int, now: Instant) -> FullLink | None:
        """The link that publications wait for."""
        name = self._first_full(unsent, now)
        if name is not None:
            backlog = self._links[name].backlog
            rate = backlog.rate_bytes_per_s
            return FullLink(f"{broker}->{name}", backlog.waiting, rate, now) if rate else None
        return self.pace.slowest if self.pace.is_fresh(now) else None

    def _is_news(self, found: FullLink) -> bool:
        told = self.full
        if told is None or told.name != found.name:
            return True
        change = abs(found.rate_bytes_per_s / told.rate_bytes_per_s - 1)
        return found.at - told.at >= TELL_AGAIN_NS and change > TELL_CHANGE
