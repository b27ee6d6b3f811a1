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

The flows are columns (``flow_columns``), which are found by the text of the selector: a report on a
flow that is controlled is not parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final

from penstock.content.bloom.encoding import FilterEncoding
from penstock.content.matching.covering import covers
from penstock.content.matching.normal_form import Boxes
from penstock.content.selectors.error import SelectorError
from penstock.core.clock import SECOND, Duration, Instant, earliest
from penstock.services.datagram.messages import Attribute, ClientAddress, Feedback
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.cover_index import CoverIndex, Slot
from penstock.services.datagram.publisher.flow_columns import Flow, FlowColumns, FlowReport
from penstock.services.datagram.publisher.flow_match import FlowMatch
from penstock.services.datagram.selectors import ReadSelector, read_anew, read_selector

STALE_RISE: Final = 1.25
"""By how much the quota of a flow without reports rises: dropping it instead triples the losses."""

SUCCESSORS_KEPT: Final = 8
"""Requests of one flow; the newest are the likely successors."""

KEPT_READINGS: Final = 1024
"""Selectors that are no flows, because others cover them, and are reported again and again; beyond
this all are read again."""

STALE_MESSAGES: Final = 4
"""A receiver whose flow has sent so many messages and that has reported none is silent."""


LONGEST_DELAY_NS: Final[Duration] = 2**62
"""By clocks that may be set to anything; the columns hold 64 bits."""


class FlowTable:
    """The flows that one publisher controls."""

    def __init__(self, parameters: DatagramParameters) -> None:
        """No flow is controlled."""
        self.refused_requests = 0
        self._parameters = parameters
        self.columns = FlowColumns()
        self.slots: dict[str, Slot] = {}
        """The flows by the text of the selector, the oldest first."""
        self._match = FlowMatch()
        self._covers = CoverIndex(self.slots.values)
        self._readings: dict[str, tuple[ReadSelector, Boxes]] = {}
        self._last_key = 0
        self._stale_at: Instant | None = None

    def __len__(self) -> int:
        """How many flows are controlled."""
        return len(self.slots)

    @property
    def flows(self) -> list[Flow]:
        """All flows, the oldest first."""
        return [Flow(self.columns, slot) for slot in self.slots.values()]

    def flows_that_wait(self) -> list[Flow]:
        """Those in which messages wait, the oldest first."""
        return list(self.columns.flows_that_wait())

    def flow(self, slot: Slot) -> Flow:
        """The flow in a slot."""
        return Flow(self.columns, slot)

    def matching(self, attributes: dict[str, Attribute]) -> Sequence[Slot]:
        """The slots of the flows that a message is part of, the oldest first."""
        slots = self._match.slots(attributes)
        return self.columns.oldest_first(slots) if len(slots) > 1 else slots

    # -- reports ----------------------------------------------------------------------------

    def feedback(self, feedback: Feedback, now: Instant) -> None:
        """Take a report in."""
        delay = max(-LONGEST_DELAY_NS, min(LONGEST_DELAY_NS, now - feedback.sent_at))
        for request in feedback.requests[: self._parameters.max_flows_of_receiver]:
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
            try:
                self._request(report)
            except SelectorError:
                self.refused_requests += 1

    def _request(self, report: FlowReport) -> None:
        text = report.request.selector
        quota = self._at_least_the_floor(report)
        slot = self._slot_of(text)
        encoding = self._read(text)[0].encoding if slot is None else self.columns.encoding(slot)
        own = None
        if slot is not None and self.columns.receivers[slot] == report.receiver:
            own = slot
        cover = self._cover(text, encoding, quota, own)
        if own is not None:
            if quota > self._quota(own) and cover is not None:
                self._remove(own, cover)
            else:
                self._limit(own, report, quota)
        elif cover is not None:
            self._remember(cover, report)
        else:
            self._add(report, quota)

    def _at_least_the_floor(self, report: FlowReport) -> float:
        return max(self._parameters.quota_floor_msgs_per_s, report.request.quota_msgs_per_s)

    def _quota(self, slot: Slot) -> float:
        return self.columns.tokens.rate_msgs_per_s(slot)

    def _slot_of(self, text: str) -> Slot | None:
        """The flow of a selector, which may be written differently."""
        slot = self.slots.get(text)
        return self.slots.get(self._read(text)[0].selector.text) if slot is None else slot

    def _read(self, text: str) -> tuple[ReadSelector, Boxes]:
        reading = self._readings.get(text)
        if reading is None:
            if len(self._readings) >= KEPT_READINGS:
                self._readings.clear()
            reading = self._readings[text] = read_anew(text)
        return reading

    def _cover(
        self, text: str, encoding: FilterEncoding, quota: float, except_slot: Slot | None
    ) -> Slot | None:
        """A flow that limits everything that the selector selects as much, or more."""
        columns = self.columns
        screened = [
            slot
            for slot in self._covers.may_cover(encoding)
            if slot != except_slot
            and self._quota(slot) <= quota
            and columns.may_cover(slot, encoding)
        ]
        for slot in columns.oldest_first(screened):
            if _covers(columns.texts[slot], text):
                return slot
        return None

    def _add(self, report: FlowReport, quota: float) -> None:
        text = report.request.selector
        slot = self._slot_of(text)
        if slot is not None:
            # Another receiver of the same filter is worse off: the flow is its now.
            self._limit(slot, report, quota)
        elif self._is_full(report.receiver):
            self.refused_requests += 1
            return
        else:
            slot = self._new_slot(*self._read(text), report, quota)
            # The table has what it needs of it.
            del self._readings[text]
        encoding = self.columns.encoding(slot)
        for other in self.columns.oldest_first(self._covers.may_be_covered(encoding)):
            if (
                other != slot
                and self._quota(other) >= quota
                and encoding.may_cover(self.columns.encoding(other))
                and _covers(text, self.columns.texts[other])
            ):
                self._remove(other, slot)

    def _new_slot(self, read: ReadSelector, boxes: Boxes, report: FlowReport, quota: float) -> Slot:
        self._last_key += 1
        slot = self.columns.add(self._last_key, read, report, quota)
        self.slots[read.selector.text] = slot
        self._covers.add(slot, read.encoding)
        self._match.add(slot, read.selector, boxes)
        self._touched(slot)
        return slot

    def _is_full(self, receiver: ClientAddress) -> bool:
        most = self._parameters.max_flows_of_receiver
        return (
            len(self) >= self._parameters.max_flows
            or self.columns.receivers.count(receiver) >= most
        )

    def _limit(self, slot: Slot, report: FlowReport, quota: float) -> None:
        """The flow is limited by this report, perhaps of another receiver than before.

        Its numbers go on: every receiver of the selector reads them.
        """
        columns = self.columns
        if report.receiver != columns.receivers[slot]:
            columns.successors.get(slot, {}).pop(report.receiver, None)
        columns.set_report(slot, report)
        columns.tokens.set_rate(slot, quota, report.at)
        self._touched(slot)

    def _remember(self, slot: Slot, report: FlowReport) -> None:
        successors = self.columns.successors.setdefault(slot, {})
        successors.pop(report.receiver, None)
        successors[report.receiver] = report
        while len(successors) > SUCCESSORS_KEPT:
            del successors[next(iter(successors))]

    def _remove(self, slot: Slot, heir: Slot | None) -> None:
        columns = self.columns
        if heir is not None:
            flow = Flow(columns, slot)
            if flow.waiting:
                Flow(columns, heir).wait(flow.waiting)
            for report in (*columns.successors.get(slot, {}).values(), flow.report):
                self._remember(heir, report)
        del self.slots[columns.texts[slot]]
        self._covers.remove(slot, columns.encoding(slot))
        self._match.remove(slot)
        columns.remove(slot)

    # -- staleness --------------------------------------------------------------------------

    def stale_at(self) -> Instant | None:
        """The earliest instant at which a flow can become stale.

        Reports move it away, which is found out when it has come: with thousands of flows, looking
        at all of them after every report would be most of the publisher's work.
        """
        return self._stale_at if self.slots else None

    def _touched(self, slot: Slot) -> None:
        self._stale_at = earliest(self._stale_at, self._stale_at_of(slot))

    def _stale_at_of(self, slot: Slot) -> Instant:
        """A receiver reports when a message arrives, so that a thin flow is given more time."""
        of_messages = round(STALE_MESSAGES * SECOND / self._quota(slot))
        return self.columns.touched_at[slot] + max(self._parameters.stale_after_ns, of_messages)

    def loosen_stale(self, now: Instant) -> None:
        """Rule 4."""
        for slot in [each for each in self.slots.values() if self._stale_at_of(each) <= now]:
            self._loosen(slot, now)
        self._stale_at = min(map(self._stale_at_of, self.slots.values()), default=None)

    def _loosen(self, slot: Slot, now: Instant) -> None:
        columns = self.columns
        limit = now - self._parameters.stale_after_ns
        successors = columns.successors.get(slot, {})
        fresh = [each for each in successors.values() if each.at > limit]
        if not columns.held_back[slot] and slot not in columns.waiting:
            self._remove(slot, None)
        else:
            columns.touched_at[slot] = now
            columns.tokens.set_rate(slot, STALE_RISE * self._quota(slot), now)
        columns.held_back[slot] = False
        for report in sorted(fresh, key=lambda each: each.request.quota_msgs_per_s)[:1]:
            successors.pop(report.receiver)
            self._hand_over(slot, report)

    def _hand_over(self, slot: Slot, report: FlowReport) -> None:
        if self._slot_of(report.request.selector) == slot:
            self._limit(slot, report, min(self._quota(slot), report.request.quota_msgs_per_s))
        else:
            self._add(report, self._at_least_the_floor(report))


def _covers(wide: str, narrow: str) -> bool:
    return covers(read_selector(wide).selector, read_selector(narrow).selector)
