"""The limits of everything that a peer may send, as types.

1. The fields of messages are declared with the types below.  The decoder enforces them while it
   reads, in compiled code, so that a value beyond its limit never reaches a machine.
2. A message without limits cannot be added: a test looks at the fields of every message of every
   service and fails for one that is unbounded.
3. Where messages are passed on without being encoded, as in the simulator, ``violation`` (in
   ``core/limit_check.py``) finds the same from the same types.
4. Sums of two legal values stay within 64 bits, so that whatever is computed from what a peer said
   can be written to the disk.

A limit is far above what an honest peer needs.  Where a smaller one can be set (the configuration
of a broker), the service refuses the request and the connection goes on; beyond a limit of this
module the connection ends, because the peer does not keep to the protocol.  The client checks names
before it sends them, and raises an error that names the limit.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

LONGEST_NAME: Final = 512
"""Characters of a name: of a producer, a subscription, a stream, a queue, a group, a broker."""

LONGEST_TEXT: Final = 1 << 20
"""Characters of a sentence for people: a reason, a problem, a cause."""

LONGEST_SELECTOR: Final = 1 << 16
"""Characters of a selector on the wire.  A broker refuses a longer one than its parser allows with
a reason (``SelectorLimits``), which is a fraction of this."""

LARGEST_DOCUMENT_BYTES: Final = 64 << 20
"""Bytes of a JSON document in an answer: what one frame may carry."""

LARGEST_NUMBER: Final = 2**62
"""Sequence numbers, versions and durations stay below this: a sum of two fits 64 bits."""

LATEST_INSTANT: Final = 2**63 - 1
"""An instant may be ``NEVER``, which is the largest number of 64 bits."""

MOST_STREAMS: Final = 10_000
"""Streams, brokers or members that one message speaks of."""

MOST_INTERVALS: Final = 1 << 16
"""Intervals of one request or settlement; more are sent in several messages."""

MOST_SELECTORS: Final = 1 << 20
"""Selectors that one broker registers with another at once.  Every client's may be among them."""

MOST_ROWS: Final = 1 << 24
"""Rows of one batch or frame on the wire: more than fit into a frame of the largest size."""

HIGHEST_RATE: Final = 1e18
"""Rates, prices and weights.  They are finite, too: a number that is not would spread."""

SELECTOR_MARK: Final = "selector"
FILTER_MARK: Final = "filter"
INTERVAL_MARK: Final = "interval"
ROWS_MARK: Final = "rows"
ANY_MARK: Final = "any"
"""What a type means beyond its range.  The gate (``overlay/gate.py``) checks that a selector can be
parsed, as can a filter unless it stands for what is subscribed, that an interval ends behind its
beginning, and that a batch or frame has rows.  The last mark says that there is no limit, on
purpose."""

# -- numbers ---------------------------------------------------------------------------------------

Sequence: TypeAlias = Annotated[int, Meta(ge=0, lt=LARGEST_NUMBER)]
"""A number that is counted up: of a row, a version, an epoch, a position in a queue."""

TickLimited: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
"""A tick of a stream; 2**62 ns are reached in the year 2116."""

InstantLimited: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST_INSTANT)]

DurationLimited: TypeAlias = Annotated[int, Meta(ge=0, lt=LARGEST_NUMBER)]

ClockDifference: TypeAlias = Annotated[int, Meta(gt=-LARGEST_NUMBER, lt=LARGEST_NUMBER)]
"""A duration between the readings of two clocks, which may be negative."""

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**48)]
"""How many rows, messages or participants."""

CountBytes: TypeAlias = Annotated[int, Meta(ge=0, lt=2**48)]

SignedCountBytes: TypeAlias = Annotated[int, Meta(gt=-(2**48), lt=2**48)]
"""Where a negative number is refused with a reason."""

RequestNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=LARGEST_NUMBER)]
"""By which an answer is found again."""

Hash: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST_INSTANT)]

Stamp: TypeAlias = Annotated[int, Meta(ge=0, lt=2**32)]

Cost: TypeAlias = Annotated[int, Meta(ge=0, lt=2**31)]
"""Of a link in the overlay; the sum over a path of all brokers fits 64 bits."""

PriorityNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=2**16)]
"""Which priorities there are is for the queue to say."""

PortNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=2**16)]

AnyFloat: TypeAlias = Annotated[float, Meta(extra={ANY_MARK: True})]
"""An attribute's value: infinite, or not a number, as its publisher likes."""

Rate: TypeAlias = Annotated[float, Meta(ge=0, le=HIGHEST_RATE)]

# -- text and bytes --------------------------------------------------------------------------------

Name: TypeAlias = Annotated[str, Meta(max_length=LONGEST_NAME)]

Address: TypeAlias = Annotated[str, Meta(max_length=2 * LONGEST_NAME + 1)]
"""``name@broker``."""

Text: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT)]

SelectorText: TypeAlias = Annotated[
    str, Meta(max_length=LONGEST_SELECTOR, extra={SELECTOR_MARK: True})
]
"""A selector in a message between brokers: one that cannot be parsed is a breach."""

LIVE_FILTER: Final = "*"
"""Stands for whatever is subscribed behind the link at present, instead of a selector."""

FilterText: TypeAlias = Annotated[str, Meta(max_length=LONGEST_SELECTOR, extra={FILTER_MARK: True})]
"""A selector in a request between brokers, or the sign for whatever is subscribed."""

AskedSelector: TypeAlias = Annotated[str, Meta(max_length=LONGEST_SELECTOR)]
"""A selector of a client: one that cannot be parsed is refused by the service."""

Document: TypeAlias = Annotated[bytes, Meta(max_length=LARGEST_DOCUMENT_BYTES)]

Secret: TypeAlias = Annotated[bytes, Meta(max_length=64)]

# -- collections -----------------------------------------------------------------------------------

IntervalLimited: TypeAlias = Annotated[
    tuple[TickLimited, TickLimited], Meta(extra={INTERVAL_MARK: True})
]

Intervals: TypeAlias = Annotated[tuple[IntervalLimited, ...], Meta(max_length=MOST_INTERVALS)]

Positions: TypeAlias = Annotated[dict[Name, TickLimited], Meta(max_length=MOST_STREAMS)]
"""A tick for each of some streams."""

Durations: TypeAlias = Annotated[dict[Name, DurationLimited], Meta(max_length=MOST_STREAMS)]
"""A duration for each of some streams."""

Names: TypeAlias = Annotated[tuple[Name, ...], Meta(max_length=MOST_STREAMS)]

SelectorTexts: TypeAlias = Annotated[tuple[SelectorText, ...], Meta(max_length=MOST_SELECTORS)]
