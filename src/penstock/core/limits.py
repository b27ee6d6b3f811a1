"""The limits of everything that a peer can send, as types.

1. The fields of messages are declared with the types below.  The decoder enforces them while it
   reads, in compiled code, so that a value beyond its limit never reaches a machine.
2. A message without limits cannot be added: a test checks the fields of every message of every
   service and fails if one has no limit.
3. Where messages are passed on without being encoded, as in the simulator, ``violation`` (in
   ``core/limit_check.py``) applies the same limits from the same types.
4. The sum of two legal values fits 64 bits, so that values computed from a peer's message can be
   written to the disk.

A limit is far above what an honest peer needs.  Where a broker's configuration sets a smaller one,
the service refuses the request and the connection continues; beyond a limit of this module the
connection ends, because the peer violates the protocol.  The client checks names before it sends
them, and raises an error that names the limit.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

LONGEST_NAME: Final = 512
"""Characters in the name of a producer, a subscription, a stream, a queue, a group or a broker."""

LONGEST_TEXT: Final = 1 << 20
"""Characters in a sentence for people: a reason, a problem, a cause."""

LONGEST_SELECTOR: Final = 1 << 16
"""Characters in a selector on the wire.  The parser of a broker allows a fraction of this
(``SelectorLimits``) and refuses a longer selector with a reason."""

LARGEST_DOCUMENT_BYTES: Final = 64 << 20
"""Bytes in a JSON document of an answer: what one frame can carry."""

LARGEST_NUMBER: Final = 2**62
"""Sequence numbers, versions and durations stay below this: a sum of two fits 64 bits."""

LATEST_INSTANT: Final = 2**63 - 1
"""An instant may be ``NEVER``, which is the largest number of 64 bits."""

MOST_STREAMS: Final = 10_000
"""Streams, brokers or members in one message."""

MOST_INTERVALS: Final = 1 << 16
"""Intervals in one request or settlement; more are sent in several messages."""

MOST_SELECTORS: Final = 1 << 20
"""Selectors that one broker registers with another at once, possibly those of all its clients."""

MOST_ROWS: Final = 1 << 24
"""Rows in one batch or frame on the wire: more than fit into the largest frame."""

HIGHEST_RATE: Final = 1e18
"""Rates, prices and weights.  They must be finite: an infinite one would spread to other values."""

SELECTOR_MARK: Final = "selector"
FILTER_MARK: Final = "filter"
INTERVAL_MARK: Final = "interval"
ROWS_MARK: Final = "rows"
ANY_MARK: Final = "any"
"""What a type means beyond its range.  The gate (``overlay/gate.py``) checks that a selector can be
parsed, and a filter too unless it is the sign for what is subscribed; that an interval is not
empty; and that a batch or frame has rows.  The last mark means that the missing limit is
intended."""

# -- numbers ---------------------------------------------------------------------------------------

Sequence: TypeAlias = Annotated[int, Meta(ge=0, lt=LARGEST_NUMBER)]
"""A number that only increases: of a row, a version, an epoch, a position in a queue."""

TickLimited: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
"""A tick of a stream; 2**62 ns are reached in the year 2116."""

InstantLimited: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST_INSTANT)]

DurationLimited: TypeAlias = Annotated[int, Meta(ge=0, lt=LARGEST_NUMBER)]

ClockDifference: TypeAlias = Annotated[int, Meta(gt=-LARGEST_NUMBER, lt=LARGEST_NUMBER)]
"""A duration between the readings of two clocks, which may be negative."""

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**48)]
"""A number of rows, messages or participants."""

CountBytes: TypeAlias = Annotated[int, Meta(ge=0, lt=2**48)]

LinkCount: TypeAlias = Annotated[int, Meta(ge=0, lt=2**8)]
"""Over how many links something came: far more than a tree is deep."""

AheadLimited: TypeAlias = Annotated[int, Meta(ge=0, lt=2**40)]
"""How long one request was ahead of another: 18 minutes, far beyond any time-out."""

SignedCountBytes: TypeAlias = Annotated[int, Meta(gt=-(2**48), lt=2**48)]
"""For requests in which the service refuses a negative number with a reason."""

RequestNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=LARGEST_NUMBER)]
"""Connects an answer with its request."""

Hash: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST_INSTANT)]

Stamp: TypeAlias = Annotated[int, Meta(ge=0, lt=2**32)]

Cost: TypeAlias = Annotated[int, Meta(ge=0, lt=2**31)]
"""The cost of a link in the overlay; the sum over a path through all brokers fits 64 bits."""

PriorityNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=2**16)]
"""Which priorities exist is decided by the queue."""

PortNumber: TypeAlias = Annotated[int, Meta(ge=0, lt=2**16)]

AnyFloat: TypeAlias = Annotated[float, Meta(extra={ANY_MARK: True})]
"""The value of an attribute; it may be infinite or not a number."""

Rate: TypeAlias = Annotated[float, Meta(ge=0, le=HIGHEST_RATE)]

# -- text and bytes --------------------------------------------------------------------------------

Name: TypeAlias = Annotated[str, Meta(max_length=LONGEST_NAME)]

TreeName: TypeAlias = Annotated[str, Meta(max_length=LONGEST_NAME + 16)]
"""The name of a broker, and the number of one of its trees."""

Address: TypeAlias = Annotated[str, Meta(max_length=2 * LONGEST_NAME + 1)]
"""``name@broker``."""

Text: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT)]

SelectorText: TypeAlias = Annotated[
    str, Meta(max_length=LONGEST_SELECTOR, extra={SELECTOR_MARK: True})
]
"""A selector in a message between brokers; one that cannot be parsed violates the protocol."""

LIVE_FILTER: Final = "*"
"""Stands for whatever is subscribed behind the link at present, instead of a selector."""

FilterText: TypeAlias = Annotated[str, Meta(max_length=LONGEST_SELECTOR, extra={FILTER_MARK: True})]
"""A selector in a request between brokers, or the sign for everything that is subscribed."""

AskedSelector: TypeAlias = Annotated[str, Meta(max_length=LONGEST_SELECTOR)]
"""A selector from a client; the service refuses one that cannot be parsed."""

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
