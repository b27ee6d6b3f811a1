"""A relay's reports about live data that waits on its links (``laws/link_backlog``, ``link_pace``).

1. The queues are measured at fixed intervals, by flow.  A stream whose live data waits on a link is
   watched until it does not any more.
2. While the queue stands, the source is told at every ``REPORT_NS``: the link, what waits, and how
   fast the link takes it.  The first report goes out at once.  A source that was told within
   ``KEPT_NS`` follows the link already, and is told of a queue that does not stand yet as well, if
   its rate is known; before, a message only waits for its turn.
3. A link that is stalled is not reported: it is broken, and nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.services.guaranteed.laws.link_backlog import LinkBacklog
from penstock.services.guaranteed.messages import FullLinkReport

REPORT_NS: Final[Duration] = 200 * MILLISECOND
"""Four measurements of the queues: what is reported differs by more than their noise."""

KEPT_NS: Final[Duration] = 2 * SECOND
"""How long a source follows what it was told (``laws/link_pace``)."""

MOST_WATCHED: Final = 4096
"""Streams and links that are watched at once; those beyond it are left to the alerts of edges."""


class _Watched:
    __slots__ = ("backlog", "reported_at")

    def __init__(self, now: Instant) -> None:
        self.backlog = LinkBacklog(now)
        self.reported_at: Instant = now - KEPT_NS

    def report_is_due(self, now: Instant) -> bool:
        since = now - self.reported_at
        backlog = self.backlog
        if not backlog.waiting or since < REPORT_NS or backlog.is_stalled(now):
            return False
        is_kept = since < KEPT_NS and backlog.rate_bytes_per_s > 0
        return is_kept or backlog.stands(now)

    def is_over(self, now: Instant) -> bool:
        return not self.backlog.waiting and now - self.reported_at >= KEPT_NS


class LinkReports:
    """What one broker reports about its links."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._watched: dict[tuple[str, LinkName], _Watched] = {}

    @property
    def watches_any(self) -> bool:
        """Whether ``sent`` must be told."""
        return bool(self._watched)

    def sent(self, pubend: str, link: LinkName, count_bytes: int) -> None:
        """Live data was put on a link."""
        watched = self._watched.get((pubend, link))
        if watched is not None:
            watched.backlog.sent(count_bytes)

    def measured(
        self,
        flow_bytes: Mapping[LinkName, Mapping[str, int]],
        pubends: Collection[str],
        now: Instant,
    ) -> Iterator[FullLinkReport]:
        """The links were measured; yields the reports about ``pubends`` that are due."""
        for link, flows in flow_bytes.items():
            for pubend in flows:
                if pubend in pubends and len(self._watched) < MOST_WATCHED:
                    self._watched.setdefault((pubend, link), _Watched(now))
        for key in list(self._watched):
            pubend, link = key
            watched = self._watched[key]
            backlog = watched.backlog
            backlog.measured(flow_bytes.get(link, {}).get(pubend, 0), now)
            if watched.is_over(now):
                del self._watched[key]
            elif watched.report_is_due(now):
                watched.reported_at = now
                way = f"{self._broker}->{link}"
                yield FullLinkReport(pubend, way, backlog.waiting, backlog.rate_bytes_per_s)
