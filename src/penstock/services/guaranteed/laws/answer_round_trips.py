"""Round trips of requests that different brokers answer.

A request goes up the tree until a broker knows the answer: a relay from its memory, or the source.
What the source answers takes longer than what the next relay answers, though nothing waits.

1. Every answer says over how many links it came (``AnswerOrigin``).  On one way to the source this
   tells who answered, so a round trip is compared only with those of answers over as many links.
2. A relay lets a request wait for the answer to an earlier one, which was under way already.  The
   answer says for how long, and the sample is what the request would have taken by itself.
3. Who will answer a request is not known when it is sent: it times out after the longest time-out
   of all distances.  That one is doubled then, until there is a sample from the same distance.
4. On another way to the source the same number of links leads to another broker: what was measured
   is forgotten, except that the first time-out follows from it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.limits import AheadLimited, LinkCount
from penstock.mechanisms.round_trip import RequestRoundTrip

MOST_LINKS: Final = 255
LONGEST_AHEAD: Final[Duration] = 2**40 - 1
"""The largest values of an origin's fields."""


class AnswerOrigin(msgspec.Struct, frozen=True, array_like=True):
    """How an answer came about."""

    links: LinkCount = 0
    """Over how many links it has come."""
    ahead_ns: AheadLimited = 0
    """How long it had been under way, for others, when this request was added to those that wait
    for it."""

    def over_a_link(self) -> AnswerOrigin:
        return AnswerOrigin(min(MOST_LINKS, self.links + 1), self.ahead_ns)

    def for_one_who_came_later(self, later_ns: Duration) -> AnswerOrigin:
        """The origin as it is for a child whose request came later than the first."""
        if later_ns <= 0:
            return self
        return AnswerOrigin(self.links, min(LONGEST_AHEAD, self.ahead_ns + later_ns))


HERE: Final = AnswerOrigin()
"""Of an answer that a broker gives by itself."""


class AnswerRoundTrips:
    """The estimates of one stream, by the number of links that answers come over."""

    __slots__ = ("_bounds", "_by_links", "_overall", "latest_links", "latest_ns")

    def __init__(self, *, minimum: Duration, maximum: Duration, initial: Duration) -> None:
        """Time-outs lie between the bounds; ``initial`` serves until there is a sample."""
        self._bounds: Final = (minimum, maximum, initial)
        self._overall = self._estimate()
        self._by_links: dict[int, RequestRoundTrip] = {}
        self.latest_ns: Duration | None = None
        self.latest_links = 0

    def _estimate(self) -> RequestRoundTrip:
        minimum, maximum, initial = self._bounds
        return RequestRoundTrip(minimum=minimum, maximum=maximum, initial=initial)

    def sample(self, measured: Duration, links: int) -> None:
        """Take in the round trip of a request that was sent once."""
        self.latest_ns, self.latest_links = measured, links
        self._overall.sample(measured)
        known = self._by_links.get(links)
        if known is None:
            known = self._by_links[links] = self._estimate()
        known.sample(measured)

    def path_changed(self) -> None:
        """Answers come over other links now."""
        self._by_links.clear()
        self.latest_ns = None

    @property
    def smoothed_ns(self) -> Duration | None:
        """Over all answers; None before there is a sample."""
        return self._overall.smoothed_ns

    def smoothed_over(self, links: int) -> Duration | None:
        """Over the answers that came over so many links."""
        known = self._by_links.get(links)
        return None if known is None else known.smoothed_ns

    def is_farthest(self, links: int) -> bool:
        """Whether no answer came over more links."""
        return all(links >= known for known in self._by_links)

    def _longest(self) -> RequestRoundTrip:
        estimates = self._by_links.values()
        return max(estimates, key=RequestRoundTrip.usual_timeout, default=self._overall)

    def timed_out(self) -> None:
        """Double the time-out (rule 3)."""
        self._longest().timed_out()

    def timeout(self) -> Duration:
        """How long to wait for an answer, from wherever it comes."""
        return self._longest().timeout()

    def usual_timeout(self) -> Duration:
        """The time-out without back-off."""
        return self._longest().usual_timeout()

    def shortest_usual_ns(self, links: int) -> Duration:
        """Answers over so many links seldom arrive sooner; 0 before there is a sample."""
        known = self._by_links.get(links)
        return 0 if known is None else known.shortest_usual_ns


class ShortestRoundTrips:
    """The shortest round trip over each number of links: that of an empty network."""

    __slots__ = ("_earlier", "_forget_after", "_forget_at", "_shortest")

    def __init__(self, forget_after: Duration | None = None) -> None:
        """Count those of the last one to two of these intervals; without one, all.

        A way that has become longer would otherwise look congested for ever.
        """
        self._forget_after = forget_after
        self._forget_at: Instant = 0
        self._shortest: dict[int, Duration] = {}
        self._earlier: dict[int, Duration] = {}

    def __len__(self) -> int:
        """Over how many different numbers of links answers came."""
        return len(self._shortest.keys() | self._earlier.keys())

    def forget(self) -> None:
        self._shortest.clear()
        self._earlier.clear()

    def excess(self, measured: Duration, links: int, now: Instant) -> Duration:
        """By how much a round trip is longer than the shortest one, which it may be itself."""
        if self._forget_after is not None and now >= self._forget_at:
            self._forget_at = now + self._forget_after
            self._earlier, self._shortest = self._shortest, {}
        shortest = min(measured, self._shortest.get(links, measured))
        self._shortest[links] = shortest
        return measured - min(shortest, self._earlier.get(links, shortest))
