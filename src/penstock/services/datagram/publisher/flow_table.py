"""Algorithm 2: which flows a publisher controls, and for whom (Section III-B 7).

A request from subscriber s for filter f with quota q is handled as follows.  The listing in the
paper looks at the flows in turn and may act before it has found the one that s itself limits; so:

1. A flow (f, s) is sought first.  A quota that is not higher is accepted.  A higher one is accepted
   unless another flow now covers f with a quota that is not higher: then (f, s) is not needed any
   more and goes.
2. Otherwise, if a flow covers f and its quota is not higher, f is limited already: the request is
   only remembered, as a possible successor.
3. Otherwise every flow that f covers and whose quota is not lower goes, and (f, s) is added.

What waits in a flow that goes waits in its successor.

4. A flow whose limiting receiver has been silent for ``stale_after_ns``, and for the time of
   ``STALE_MESSAGES`` messages at its quota, is handed over to the
   remembered request of somebody who has reported meanwhile.  If there is none its quota rises by a
   quarter, each time; when it held nothing back during the whole period, it goes.

Covering is exact (``matching/covering``), screened by the Bloom encodings.  No quota is below
the floor, one receiver has a bounded number of flows, and so has the table.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

import msgspec

from penstock.content.bloom.encoding import FilterEncoding
from penstock.content.matching.covering import covers
from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.selector import Selector
from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.mechanisms.token_bucket import TokenBucket
from penstock.services.datagram.attribute_cache import AttributeCache
from penstock.services.datagram.messages import (
    Attribute,
    ClientAddress,
    DecidedBy,
    Feedback,
    FlowRequest,
    FlowTag,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.cover_index import CoverIndex
from penstock.services.datagram.selectors import ReadSelector, read_selector

DEPTH_NS: Final[Duration] = 50 * MILLISECOND
LEAST_TOKENS: Final = 2.0
"""How many tokens a flow can save up: enough that a publisher that wakes up late loses nothing, too
few for a burst that would fill a queue on the way."""

STALE_RISE: Final = 1.25
"""By how much the quota of a flow without reports rises: dropping it instead triples the losses."""

SUCCESSORS_KEPT: Final = 8
"""AttributeCache requests of one flow; the newest are the likely successors."""


SCREENED_FLOWS: Final = 8
"""Encodings that are compared in the time of one look into the cache of the index."""

STALE_MESSAGES: Final = 4
"""A receiver whose flow has sent so many messages and that has reported none is silent."""


NOBODY: Final[deque[Any]] = deque(maxlen=0)
"""What waits in a flow that holds nothing back: most flows never need a queue of their own."""


class FlowReport(msgspec.Struct, frozen=True):
    """One request, and what its subscriber says of the network."""

    receiver: ClientAddress
    request: FlowRequest
    at: Instant
    delay_ns: Duration
    loss_event_rate: float
    round_trip_ns: Duration
    decided_by: DecidedBy


class Flow:
    """A line of the table (Figure 4)."""

    __slots__ = (
        "encoding",
        "held_back",
        "key",
        "report",
        "selector",
        "selector_hash",
        "sequence",
        "since",
        "successors",
        "tokens",
        "touched_at",
        "waiting",
    )

    def __init__(self, key: int, read: ReadSelector, report: FlowReport, quota: float) -> None:
        self.key = key
        self.selector: Selector = read.selector
        self.selector_hash = read.hash
        self.encoding: FilterEncoding = read.encoding
        self.report = report
        self.since = report.at
        self.touched_at = report.at
        # One token at the start: being controlled does not stop a flow.
        self.tokens = TokenBucket(
            quota, tokens=1.0, least_capacity=LEAST_TOKENS, depth_ns=DEPTH_NS, now=report.at
        )
        self.sequence = 0
        self.waiting: deque[Any] = NOBODY
        self.successors: dict[ClientAddress, FlowReport] = {}
        self.held_back = False

    @property
    def quota_msgs_per_s(self) -> float:
        """The limit in force."""
        return self.tokens.rate_msgs_per_s

    @property
    def reception_msgs_per_s(self) -> float:
        """What the limiting receiver says that it receives."""
        request = self.report.request
        return request.reception_msgs_per_s

    @property
    def receiver(self) -> ClientAddress:
        """The limiting receiver."""
        return self.report.receiver

    def covers(self, read: ReadSelector) -> bool:
        """Whether every message that the selector selects is part of the flow."""
        return self.encoding.may_cover(read.encoding) and covers(self.selector, read.selector)

    def tag(self) -> FlowTag:
        """The mark of the next publication of this flow."""
        self.sequence += 1
        report = self.report
        return FlowTag(
            report.receiver,
            report.request.filter_id,
            self.sequence,
            report.delay_ns,
            self.selector_hash,
        )

    def wait(self, some: Iterable[Any]) -> None:
        """Publications wait in this flow from now on."""
        if self.waiting is NOBODY:
            self.waiting = deque()
        self.waiting.extend(some)

    def limited_by(self, report: FlowReport, quota: float) -> None:
        """Somebody limits the flow now, perhaps somebody else than before.

        Its numbers go on: every receiver of the selector reads them.
        """
        if report.receiver != self.receiver:
            self.successors.pop(report.receiver, None)
        self.report = report
        self.touched_at = report.at
        self.tokens.set_rate(quota, report.at)


class FlowTable:
    """The flows that one publisher controls."""

    def __init__(self, parameters: DatagramParameters) -> None:
        """No flow is controlled."""
        self.flows: list[Flow] = []
        self.refused_requests = 0
        self._parameters = parameters
        self._index = SelectorIndex()
        self._matching = AttributeCache(self._match)
        self._by_key: dict[int, Flow] = {}
        self._by_text: dict[str, Flow] = {}
        self._flows_of: Counter[ClientAddress] = Counter()
        self._covers: CoverIndex[Flow] = CoverIndex()
        self._last_key = 0

    def matching(self, bits: int, attributes: dict[str, Attribute]) -> list[Flow]:
        """The flows that a message is part of; ``bits`` is its encoding, which screens it.

        With many flows the index is quicker than the screen.
        """
        if len(self.flows) > SCREENED_FLOWS:
            return self._matching.of(attributes)
        for flow in self.flows:
            if flow.encoding.matches(bits):
                return self._matching.of(attributes)
        return []

    def _match(self, attributes: dict[str, Attribute]) -> list[Flow]:
        return [self._by_key[key] for key in self._index.match_row(attributes)]

    def feedback(self, feedback: Feedback, now: Instant) -> None:
        """Take a report in."""
        delay = now - feedback.sent_at
        for request in feedback.requests[: self._parameters.max_flows_of_receiver]:
            try:
                read = read_selector(request.selector)
            except SelectorError:
                self.refused_requests += 1
                continue
            if not isfinite(request.quota_msgs_per_s):
                self.refused_requests += 1
                continue
            report = FlowReport(
                feedback.sender,
                request,
                now,
                delay,
                feedback.loss_event_rate,
                feedback.round_trip_ns,
                feedback.decided_by,
            )
            self._request(report, read)

    def _request(self, report: FlowReport, read: ReadSelector) -> None:
        selector = read.selector
        quota = max(self._parameters.quota_floor_msgs_per_s, report.request.quota_msgs_per_s)
        own = self._by_text.get(selector.text)
        if own is not None and own.receiver != report.receiver:
            own = None
        cover = self._cover(read, quota, own)
        if own is not None:
            if quota > own.quota_msgs_per_s and cover is not None:
                self._remove(own, cover)
            else:
                self._limit(own, report, quota)
            return
        if cover is not None:
            _remember(cover, report)
            return
        self._add(report, read, quota)

    def _cover(self, read: ReadSelector, quota: float, except_flow: Flow | None) -> Flow | None:
        """A flow that limits everything that the selector selects as much, or more."""
        for flow in self._covers.may_cover(read.encoding):
            if flow is not except_flow and flow.quota_msgs_per_s <= quota and flow.covers(read):
                return flow
        return None

    def _add(self, report: FlowReport, read: ReadSelector, quota: float) -> None:
        selector, encoding = read.selector, read.encoding
        added = self._by_text.get(selector.text)
        if added is not None:
            # Another receiver of the same filter is worse off: the flow is its now.
            self._limit(added, report, quota)
        elif self._is_full(report.receiver):
            self.refused_requests += 1
            return
        else:
            self._last_key += 1
            added = Flow(self._last_key, read, report, quota)
            self.flows.append(added)
            self._by_key[added.key] = added
            self._by_text[selector.text] = added
            self._flows_of[report.receiver] += 1
            self._covers.add(added)
            self._index.add(added.key, selector)
            self._matching.forget()
        for flow in self._covers.may_be_covered(encoding):
            if (
                flow is not added
                and flow.quota_msgs_per_s >= quota
                and encoding.may_cover(flow.encoding)
                and covers(selector, flow.selector)
            ):
                self._remove(flow, added)

    def _is_full(self, receiver: ClientAddress) -> bool:
        return (
            len(self.flows) >= self._parameters.max_flows
            or self._flows_of[receiver] >= self._parameters.max_flows_of_receiver
        )

    def _limit(self, flow: Flow, report: FlowReport, quota: float) -> None:
        """The flow is limited by this report, and counts for its receiver."""
        self._count_out(flow.receiver)
        self._flows_of[report.receiver] += 1
        flow.limited_by(report, quota)

    def _count_out(self, receiver: ClientAddress) -> None:
        self._flows_of[receiver] -= 1
        if not self._flows_of[receiver]:
            del self._flows_of[receiver]

    def _remove(self, flow: Flow, heir: Flow | None) -> None:
        self.flows.remove(flow)
        del self._by_key[flow.key]
        del self._by_text[flow.selector.text]
        self._count_out(flow.receiver)
        self._covers.remove(flow)
        self._index.remove(flow.key)
        self._matching.forget()
        if heir is not None:
            if flow.waiting:
                heir.wait(flow.waiting)
            for report in (*flow.successors.values(), flow.report):
                _remember(heir, report)

    # -- staleness --------------------------------------------------------------------------

    def stale_at(self) -> Instant | None:
        """When the next flow becomes stale."""
        if not self.flows:
            return None
        return min(self._stale_at(flow) for flow in self.flows)

    def _stale_at(self, flow: Flow) -> Instant:
        """A receiver reports when a message arrives, so that a thin flow is given more time."""
        of_messages = round(STALE_MESSAGES * SECOND / flow.quota_msgs_per_s)
        return flow.touched_at + max(self._parameters.stale_after_ns, of_messages)

    def loosen_stale(self, now: Instant) -> None:
        """Rule 4."""
        limit = now - self._parameters.stale_after_ns
        for flow in [each for each in self.flows if self._stale_at(each) <= now]:
            fresh = [each for each in flow.successors.values() if each.at > limit]
            if not flow.held_back and not flow.waiting:
                self._remove(flow, None)
            else:
                flow.touched_at = now
                flow.tokens.set_rate(STALE_RISE * flow.quota_msgs_per_s, now)
            flow.held_back = False
            for report in sorted(fresh, key=lambda each: each.request.quota_msgs_per_s)[:1]:
                flow.successors.pop(report.receiver)
                self._hand_over(flow, report)

    def _hand_over(self, flow: Flow, report: FlowReport) -> None:
        read = read_selector(report.request.selector)
        if flow in self.flows and read.selector.text == flow.selector.text:
            self._limit(flow, report, min(flow.quota_msgs_per_s, report.request.quota_msgs_per_s))
        else:
            quota = max(self._parameters.quota_floor_msgs_per_s, report.request.quota_msgs_per_s)
            self._add(report, read, quota)


def _remember(flow: Flow, report: FlowReport) -> None:
    flow.successors.pop(report.receiver, None)
    flow.successors[report.receiver] = report
    while len(flow.successors) > SUCCESSORS_KEPT:
        del flow.successors[next(iter(flow.successors))]
