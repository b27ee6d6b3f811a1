"""Algorithm 1: what a subscriber keeps and decides for one publisher (Section III-B 5).

Once in a round trip, and not more often than ``report_interval_ns``:

1. The equation gives the rate R that is allowed; t is what is received over all filters.
2. If R < t, R is divided among the filters by max-min, weighted by their priorities.
3. If R > t, each filter whose flow this subscriber limits gets its reception rate and an equal part
   of what is left, at most α of its reception rate.
4. The report names the filters whose quota is below their reception rate, and those that this
   subscriber limits.  (Lines 6 to 10 of the paper's listing belong after the loop.)

A law may ask for more (``joins_early``):

5. In its first ``JOINING_NS`` a session asks for a quota that limits nothing, so that its flow is
   numbered and shows every loss.  Otherwise a hundred thin flows that begin at once would not see
   that half of their messages are lost: publication records do not show it.

Numbers of flows (detection ``flow``):

6. A publication's tag tells the losses of the flow to its limiting receiver, and to every other
   receiver whose filter has the same selector.  Other receivers read the publication record.
7. Records do not tell the losses of a filter whose encoding is not exact, such as a range.  Its
   subscriber asks, once in ``JOINING_NS``, for a quota that limits nothing until its flow is
   numbered, under every law.

A law may ask for fewer reports (``reports_changes``):

8. The limiting receiver leaves out a report if its quota differs by less than ``SMALL_CHANGE`` from
   the one that it reported last, or if both are so far above what it receives that neither limits.
   It reports at least ``REPORTS_BEFORE_STALE`` times before its flow would become stale.

A message may match several filters: R and t count messages, so the quotas are scaled up by as much
as the filters overlap.  If nothing came since the last report there is nothing to say: the flow of
a publisher that is idle is not throttled for being idle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from penstock.content.bloom.encoding import FilterEncoding
from penstock.content.selectors.selector import Selector
from penstock.core.clock import SECOND, Duration, Instant
from penstock.mechanisms.rate_meter import AdaptiveRateMeter
from penstock.mechanisms.round_trip import TwoClockRoundTrip
from penstock.services.datagram.laws.choice import chosen_law
from penstock.services.datagram.laws.equation import loss_event_rate_for
from penstock.services.datagram.laws.max_min import max_min_shares
from penstock.services.datagram.messages import (
    ClientAddress,
    DecidedBy,
    FlowRequest,
    FlowTag,
    Publication,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.subscriber.loss_history import LossHistory
from penstock.services.datagram.subscriber.publication_record import (
    NOTHING_LOST,
    RecordReading,
    read_record,
)

SILENT_NS: Final[Duration] = 10 * SECOND
"""A publisher that pauses for longer is measured anew: nothing that was known holds any more."""

SILENT_MESSAGES: Final = 8
"""A thin flow that has lost so many messages in a row has paused."""

JOINING_NS: Final[Duration] = SECOND
"""Twenty reports; the first that arrives numbers the flow."""

JOINING_QUOTA: Final = 2.0
"""Twice what is received: as much as was sent if half of it was lost, and no limit to any other."""

LEAST_JOINING_MSGS_PER_S: Final = 2.0
"""A flow of which hardly anything has arrived yet is not held back."""

SMALL_CHANGE: Final = 0.02
"""A fiftieth of the rate: less than what two flows of a queue differ by."""

NOT_BINDING: Final = 1.2
"""A quota so far above what is received limits only a flow that grows by a fifth, and then it
is reported at the next decision."""

REPORTS_BEFORE_STALE: Final = 4
"""Three of them may be lost."""

NO_TAGS: Final[Mapping[int, FlowTag]] = {}
NO_NUMBERS: Final[Mapping[int, int]] = {}


class Filter(msgspec.Struct, frozen=True):
    """One subscription of a client."""

    filter_id: int
    selector: Selector
    encoding: FilterEncoding
    priority: float = 1.0
    selector_hash: int = -1
    """``selectors.hash_of``; no tag has the default."""


class FilterState:
    """One filter's line in the session's table (Figure 3)."""

    __slots__ = (
        "last_sequence",
        "limiting",
        "meter",
        "numbered_at",
        "quota_msgs_per_s",
        "reported_at",
        "reported_msgs_per_s",
    )

    def __init__(self, now: Instant) -> None:
        self.meter = AdaptiveRateMeter(now)
        self.quota_msgs_per_s = 0.0
        self.limiting = False
        self.last_sequence = 0
        self.reported_at: Instant = now
        self.reported_msgs_per_s = 0.0
        self.numbered_at: Instant = now - JOINING_NS
        """When the filter's flow last had a number, or a number was last asked for."""


class SubscriberSession:
    """The state of one pair of a subscriber and a publisher's incarnation."""

    def __init__(
        self, address: ClientAddress, incarnation: int, parameters: DatagramParameters, now: Instant
    ) -> None:
        """``address`` is the subscriber's own."""
        self.incarnation = incarnation
        self.round_trip = TwoClockRoundTrip(parameters.echo_interval_ns)
        self.losses = LossHistory()
        self.law = chosen_law(parameters)
        self.received_messages = 0
        self.lost_messages = 0
        self.heard_at = now
        self.allowed_msgs_per_s = 0.0
        self.decided_by = DecidedBy.NO_LIMIT
        self._address = address
        self._parameters = parameters
        self._states: dict[int, FilterState] = {}
        self._meter = AdaptiveRateMeter(now)
        self._last_sequence = 0
        """Publications are numbered from one; nothing was received yet."""
        self._began = now
        self._decided_at = now
        self._decide_at: Instant | None = None
        self._patience_ns = SILENT_NS

    @property
    def ends_at(self) -> Instant:
        """When a publisher that stays silent is forgotten."""
        return self.heard_at + self._patience_ns

    # -- publications -----------------------------------------------------------------------

    def received(
        self,
        some: Sequence[tuple[Publication, Sequence[int]]],
        filters: Mapping[int, Filter],
        now: Instant,
    ) -> None:
        """Publications came at once, each with the filters that it matches."""
        self.heard_at = now
        self.received_messages += len(some)
        one_ways: list[Duration] = []
        for publication, filter_ids in some:
            tags = self._own_tags(publication) if publication.flows else NO_TAGS
            self._meter.add(now)
            for filter_id in filter_ids:
                state = self._states.get(filter_id)
                if state is None:
                    state = self._states[filter_id] = FilterState(now)
                state.meter.add(now)
                state.limiting = filter_id in tags
            delay = next(iter(tags.values())).feedback_delay_ns if tags else None
            if not self.round_trip.publication(publication.sent_at, now, delay):
                self._clock_was_set(one_ways, now)
            one_ways.append(now - publication.sent_at)
            numbers = self._numbers(publication, tags, filter_ids, filters)
            reading = self._read(publication, numbers, filters, now)
            if reading.lost_messages:
                self._lost(reading.lost_messages, now)
            self.losses.arrived(reading.weight)
            if publication.sequence > self._last_sequence:
                self._last_sequence = publication.sequence
            if self._decide_at is None:
                self._plan_decision(now)
        self.law.arrived(one_ways, now)

    def _plan_decision(self, now: Instant) -> None:
        round_trip = self.round_trip.smoothed_ns
        if round_trip is None and self.law.needs_round_trip:
            return
        interval = max(self._parameters.report_interval_ns, round_trip or 0)
        at = self._decided_at + interval
        latest = self.law.decides_by(self._decided_at)
        self._decide_at = max(now, at if latest is None else min(at, latest))

    def _own_tags(self, publication: Publication) -> Mapping[int, FlowTag]:
        """The tags of the flows that this subscriber limits, by its own number for the filter."""
        return {tag.filter_id: tag for tag in publication.flows if tag.receiver == self._address}

    def _numbers(
        self,
        publication: Publication,
        own: Mapping[int, FlowTag],
        filter_ids: Sequence[int],
        filters: Mapping[int, Filter],
    ) -> Mapping[int, int]:
        """The numbers of the flows of this subscriber's selectors, by filter (rule 6)."""
        if not publication.flows or self._parameters.detection != "flow":
            return NO_NUMBERS
        numbers = {filter_id: tag.sequence for filter_id, tag in own.items()}
        shared = {tag.selector_hash: tag.sequence for tag in publication.flows}
        for filter_id in filter_ids:
            known = filters.get(filter_id)
            if known is not None and known.selector_hash in shared:
                numbers[filter_id] = shared[known.selector_hash]
        return numbers

    def _clock_was_set(self, one_ways: list[Duration], now: Instant) -> None:
        """Discard the delays measured so far, in this batch too: they are by another clock."""
        self.law.arrived(one_ways, now)
        self.law.clock_was_set()
        one_ways.clear()

    def _read(
        self,
        publication: Publication,
        numbers: Mapping[int, int],
        filters: Mapping[int, Filter],
        now: Instant,
    ) -> RecordReading:
        """What was lost before this publication."""
        if numbers:
            return self._gap_in_flows(numbers, now)
        last = self._last_sequence
        if not last or publication.sequence <= last + 1:
            return NOTHING_LOST
        rate = publication.publish_rate_msgs_per_s
        return read_record(
            publication.record,
            publication.sequence - last - 1,
            (each.encoding for each in filters.values()),
            self._meter.per_second(now) / rate if rate > 0 else 1.0,
        )

    def _gap_in_flows(self, numbers: Mapping[int, int], now: Instant) -> RecordReading:
        lost = 0
        for filter_id, number in numbers.items():
            state = self._states.get(filter_id)
            if state is None:
                state = self._states[filter_id] = FilterState(now)
            state.numbered_at = now
            if state.last_sequence and number > state.last_sequence:
                lost = max(lost, number - state.last_sequence - 1)
            # A flow that is set up anew counts from one again.
            if number > state.last_sequence or number == 1:
                state.last_sequence = number
        return RecordReading(lost, 1.0) if lost else NOTHING_LOST

    def _lost(self, messages: int, now: Instant) -> None:
        self.lost_messages += messages
        if self.round_trip.smoothed_ns is None or self._event(now):
            self.law.loss_event(now)

    def _event(self, now: Instant) -> bool:
        round_trip = self.round_trip.at_loss_ns
        if round_trip is None:
            return False
        first = 0.0
        if not self.losses.events:
            first = 1 / loss_event_rate_for(self._meter.per_second(now), round_trip)
        return self.losses.lost(now, round_trip, first)

    # -- decisions --------------------------------------------------------------------------

    @property
    def loss_event_rate(self) -> float:
        """What the equation is asked with."""
        return self.losses.loss_event_rate()

    def decision_due_at(self) -> Instant | None:
        """When the next decision is due; None while there is nothing to decide on."""
        return self._decide_at

    def decide(self, filters: Mapping[int, Filter], now: Instant) -> tuple[FlowRequest, ...]:
        """Algorithm 1; what to ask of the publisher, if anything."""
        round_trip = self.round_trip.smoothed_ns or 0
        self._decided_at = now
        self._decide_at = None
        states = {key: each for key, each in self._states.items() if key in filters}
        self._states = states
        rates = {key: state.meter.per_second(now) for key, state in states.items()}
        total = self._meter.per_second(now)
        self._patience_ns = max(SILENT_NS, round(SILENT_MESSAGES * SECOND / max(total, 1e-3)))
        self.allowed_msgs_per_s = self.law.allowed_rate(total, round_trip, self.losses, now)
        limits = self.allowed_msgs_per_s < total
        self.decided_by = self.law.decided_by if limits else DecidedBy.NO_LIMIT
        overlap = sum(rates.values()) / total if total > 0 else 1.0
        if limits:
            self._decrease(self.allowed_msgs_per_s * overlap, states, rates, filters)
        else:
            self._increase((self.allowed_msgs_per_s - total) * overlap, states, rates)
        joining = self.law.joins_early and now - self._began < JOINING_NS
        requests: list[FlowRequest] = []
        for key, state in states.items():
            asks = joining or self._asks_for_numbers(state, filters[key], now)
            quota = self._quota_to_report(state, rates[key], joining=asks)
            if quota is not None and self._is_news(state, quota, rates[key], now):
                state.reported_at, state.reported_msgs_per_s = now, quota
                requests.append(FlowRequest(key, filters[key].selector.text, quota, rates[key]))
        return tuple(requests)

    def _is_news(self, state: FilterState, quota: float, rate: float, now: Instant) -> bool:
        """Rule 8."""
        if not state.limiting or not self.law.reports_changes:
            return True
        if now - state.reported_at >= self._parameters.stale_after_ns // REPORTS_BEFORE_STALE:
            return True
        reported = state.reported_msgs_per_s
        if min(quota, reported) >= NOT_BINDING * rate:
            return False
        return abs(quota - reported) >= SMALL_CHANGE * reported

    def _asks_for_numbers(self, state: FilterState, wanted: Filter, now: Instant) -> bool:
        """Rule 7."""
        if wanted.encoding.exact or self._parameters.detection != "flow":
            return False
        if now - state.numbered_at < JOINING_NS:
            return False
        state.numbered_at = now
        return True

    def _quota_to_report(self, state: FilterState, rate: float, *, joining: bool) -> float | None:
        """Rules 4, 5 and 7; None if there is nothing to report."""
        quota = state.quota_msgs_per_s
        if quota < rate:
            return quota
        if state.limiting:
            return quota
        return max(LEAST_JOINING_MSGS_PER_S, JOINING_QUOTA * rate) if joining else None

    def _decrease(
        self,
        allowed: float,
        states: Mapping[int, FilterState],
        rates: Mapping[int, float],
        filters: Mapping[int, Filter],
    ) -> None:
        keys = list(states)
        demands = [rates[key] for key in keys]
        weights = [filters[key].priority for key in keys]
        for key, share in zip(keys, max_min_shares(allowed, demands, weights), strict=True):
            states[key].quota_msgs_per_s = share

    def _increase(
        self, unused: float, states: Mapping[int, FilterState], rates: Mapping[int, float]
    ) -> None:
        limited = sum(state.limiting for state in states.values())
        for key, state in states.items():
            state.quota_msgs_per_s = rates[key]
            if state.limiting:
                most = self._parameters.increase_limit * rates[key]
                state.quota_msgs_per_s += min(most, unused / limited)
