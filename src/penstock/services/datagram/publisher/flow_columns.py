"""The flows of a publisher as columns of numbers.

Section IV promises less than 1 MB for 2,000 flows, which is 500 bytes a flow.  An object with a
report, a token bucket and boxed numbers takes four times as much, so:

1. A flow is a *slot*: its numbers stand in columns, its selector's text and its receiver in lists.
   The slot of a flow that goes is used again.
2. The encoding of a selector takes 32 bytes of one column.  The few with several alternatives, or
   none, are kept beside it.
3. Messages that wait, and requests that are remembered as successors, are kept only for the flows
   that have some.
4. The parsed selector is not kept: it is read again for the few flows that may cover another.
5. ``Flow`` tells what is in a slot.  It is made when it is asked for, and is valid until its flow
   goes.  The way of a message through the publisher uses slots alone.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from penstock.content.bloom.encoding import (
    PAPER_SHAPE,
    FilterEncoding,
    encoding_bytes,
    encoding_from_bytes,
)
from penstock.content.selectors.selector import Selector
from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.mechanisms.token_bucket import TokenBuckets
from penstock.services.datagram.messages import ClientAddress, DecidedBy, FlowRequest, FlowTag
from penstock.services.datagram.selectors import ReadSelector, read_selector

DEPTH_NS: Final[Duration] = 50 * MILLISECOND
LEAST_TOKENS: Final = 2.0
"""How many tokens a flow can save up: enough that a publisher that wakes up late loses nothing, too
few for a burst that would fill a queue on the way."""

ENCODING_BYTES: Final = PAPER_SHAPE.bits // 8

NOBODY: Final[deque[Any]] = deque(maxlen=0)
"""What waits in a flow that holds nothing back."""


class FlowReport(msgspec.Struct, frozen=True):
    """One request, and what its subscriber says of the network."""

    receiver: ClientAddress
    request: FlowRequest
    at: Instant
    delay_ns: Duration
    loss_event_rate: float
    round_trip_ns: Duration
    decided_by: DecidedBy


class FlowColumns:
    """The numbers and texts of all flows, by slot."""

    __slots__ = (
        "_encodings",
        "_free",
        "_other_encodings",
        "decided_by",
        "delay_ns",
        "filter_ids",
        "held_back",
        "keys",
        "loss_event_rates",
        "receivers",
        "reception",
        "reported_at",
        "round_trip_ns",
        "selector_hashes",
        "sequences",
        "since",
        "successors",
        "texts",
        "tokens",
        "touched_at",
        "waiting",
    )

    def __init__(self) -> None:
        self.keys = array("q")
        """Larger for flows that were added later."""
        self.texts: list[str] = []
        self.selector_hashes = array("I")
        self.tokens = TokenBuckets(least_capacity=LEAST_TOKENS, depth_ns=DEPTH_NS)
        self.since = array("q")
        self.touched_at = array("q")
        """When the flow was last limited or loosened."""
        self.sequences = array("q")
        self.held_back = bytearray()
        self.receivers: list[ClientAddress] = []
        self.filter_ids = array("q")
        self.reception = array("d")
        self.reported_at = array("q")
        self.delay_ns = array("q")
        self.loss_event_rates = array("d")
        self.round_trip_ns = array("q")
        self.decided_by = bytearray()
        self.waiting: dict[int, deque[Any]] = {}
        self.successors: dict[int, dict[ClientAddress, FlowReport]] = {}
        self._encodings = bytearray()
        self._other_encodings: dict[int, FilterEncoding] = {}
        self._free: list[int] = []

    def add(self, key: int, read: ReadSelector, report: FlowReport, quota: float) -> int:
        """The slot of a new flow."""
        slot = self._free.pop() if self._free else self._appended()
        self.keys[slot] = key
        self.texts[slot] = read.selector.text
        self.selector_hashes[slot] = read.hash
        self.since[slot] = report.at
        self.sequences[slot] = 0
        self.held_back[slot] = False
        # One token at the start: being controlled does not stop a flow.
        self.tokens.start(slot, quota, tokens=1.0, now=report.at)
        self._set_encoding(slot, read.encoding)
        self.set_report(slot, report)
        return slot

    def _appended(self) -> int:
        slot = len(self.keys)
        for numbers in (
            self.keys,
            self.selector_hashes,
            self.since,
            self.touched_at,
            self.sequences,
            self.held_back,
            self.filter_ids,
            self.reception,
            self.reported_at,
            self.delay_ns,
            self.loss_event_rates,
            self.round_trip_ns,
            self.decided_by,
        ):
            numbers.append(0)
        self.texts.append("")
        self.receivers.append("")
        self.tokens.append()
        self._encodings += bytes(ENCODING_BYTES)
        return slot

    def remove(self, slot: int) -> None:
        """Free the slot; what waits there was moved before."""
        self.texts[slot] = self.receivers[slot] = ""
        self.waiting.pop(slot, None)
        self.successors.pop(slot, None)
        self._other_encodings.pop(slot, None)
        self._free.append(slot)

    def set_report(self, slot: int, report: FlowReport) -> None:
        """The report that limits the flow from now on."""
        request = report.request
        self.receivers[slot] = report.receiver
        self.filter_ids[slot] = request.filter_id
        self.reception[slot] = request.reception_msgs_per_s
        self.reported_at[slot] = self.touched_at[slot] = report.at
        self.delay_ns[slot] = report.delay_ns
        self.loss_event_rates[slot] = report.loss_event_rate
        self.round_trip_ns[slot] = report.round_trip_ns
        self.decided_by[slot] = report.decided_by

    def report(self, slot: int) -> FlowReport:
        """The report that limits the flow, with the quota in force."""
        return FlowReport(
            self.receivers[slot],
            FlowRequest(
                self.filter_ids[slot],
                self.texts[slot],
                self.tokens.rate_msgs_per_s(slot),
                self.reception[slot],
            ),
            self.reported_at[slot],
            self.delay_ns[slot],
            self.loss_event_rates[slot],
            self.round_trip_ns[slot],
            DecidedBy(self.decided_by[slot]),
        )

    def _set_encoding(self, slot: int, encoding: FilterEncoding) -> None:
        if len(encoding.alternatives) == 1 and encoding.exact:
            at = slot * ENCODING_BYTES
            self._encodings[at : at + ENCODING_BYTES] = encoding_bytes(encoding.alternatives[0])
        else:
            self._other_encodings[slot] = encoding

    def encoding(self, slot: int) -> FilterEncoding:
        """The encoding of the flow's selector."""
        other = self._other_encodings.get(slot)
        if other is not None:
            return other
        at = slot * ENCODING_BYTES
        return FilterEncoding((encoding_from_bytes(self._encodings[at : at + ENCODING_BYTES]),))

    def may_cover(self, slot: int, encoding: FilterEncoding) -> bool:
        """``FilterEncoding.may_cover``, without making an encoding of every flow."""
        if slot in self._other_encodings:
            return self._other_encodings[slot].may_cover(encoding)
        at = slot * ENCODING_BYTES
        bits = encoding_from_bytes(self._encodings[at : at + ENCODING_BYTES])
        return all(bits & each == bits for each in encoding.alternatives)

    def tag(self, slot: int) -> FlowTag:
        """The mark of the next publication of the flow."""
        sequence = self.sequences[slot] = self.sequences[slot] + 1
        return FlowTag(
            self.receivers[slot],
            self.filter_ids[slot],
            sequence,
            self.delay_ns[slot],
            self.selector_hashes[slot],
        )

    def oldest_first(self, slots: Iterable[int]) -> list[int]:
        """Slots in the order in which their flows were added."""
        return sorted(slots, key=self.keys.__getitem__)

    def flows_that_wait(self) -> Iterator[Flow]:
        """The flows in which messages wait, the oldest first."""
        for slot in self.oldest_first(self.waiting):
            yield Flow(self, slot)


class Flow:
    """A line of the table (Figure 4)."""

    __slots__ = ("_columns", "slot")

    def __init__(self, columns: FlowColumns, slot: int) -> None:
        self._columns = columns
        self.slot = slot

    @property
    def key(self) -> int:
        """Larger for flows that were added later."""
        return self._columns.keys[self.slot]

    @property
    def text(self) -> str:
        """The selector's text."""
        return self._columns.texts[self.slot]

    @property
    def selector(self) -> Selector:
        """What the flow's messages match."""
        return read_selector(self.text).selector

    @property
    def quota_msgs_per_s(self) -> float:
        """The limit in force."""
        return self._columns.tokens.rate_msgs_per_s(self.slot)

    @property
    def reception_msgs_per_s(self) -> float:
        """What the limiting receiver says that it receives."""
        return self._columns.reception[self.slot]

    @property
    def receiver(self) -> ClientAddress:
        """The limiting receiver."""
        return self._columns.receivers[self.slot]

    @property
    def report(self) -> FlowReport:
        """The limiting receiver's latest report."""
        return self._columns.report(self.slot)

    @property
    def since(self) -> Instant:
        """Since when the flow is controlled."""
        return self._columns.since[self.slot]

    @property
    def held_back(self) -> bool:
        """Whether a message had to wait since the flow was last looked at for staleness."""
        return bool(self._columns.held_back[self.slot])

    @held_back.setter
    def held_back(self, value: bool) -> None:
        self._columns.held_back[self.slot] = value

    # -- what waits -------------------------------------------------------------------------

    @property
    def waiting(self) -> deque[Any]:
        """The publications that wait in this flow; to be read only."""
        return self._columns.waiting.get(self.slot, NOBODY)

    def wait(self, some: Iterable[Any]) -> None:
        """Publications wait in this flow from now on."""
        self._columns.waiting.setdefault(self.slot, deque()).extend(some)

    def first_goes(self) -> None:
        """The publication that has waited longest does not wait any more."""
        waiting = self._columns.waiting[self.slot]
        waiting.popleft()
        if not waiting:
            del self._columns.waiting[self.slot]

    def nothing_waits(self) -> None:
        """Forget everything that waits."""
        self._columns.waiting.pop(self.slot, None)
