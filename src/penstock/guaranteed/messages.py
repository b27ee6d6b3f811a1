"""What the brokers of the guaranteed service say to each other, and to their clients.

Between brokers everything is about one stream (``pubend``) or one source (``root``, the broker that
hosts the pubends).  Knowledge flows down the source's tree; requests, acknowledgements and
subscriptions flow up.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec

from penstock.content.batch import Batch
from penstock.content.frame import Frame
from penstock.core.limits import (
    MOST_STREAMS,
    AskedSelector,
    Count,
    CountBytes,
    Document,
    DurationLimited,
    FilterText,
    InstantLimited,
    Intervals,
    Name,
    Names,
    Positions,
    Rate,
    SelectorTexts,
    Sequence,
    Text,
    TickLimited,
)
from penstock.core.message import Message, Right
from penstock.guaranteed.rate_law import AlertReading

LIVE_FILTER: Final = "*"
"""Asks for whatever is subscribed behind the link at present, instead of naming a selector."""


class Knowledge(Message, frozen=True, gc=False):
    """A piece of a stream.

    ``answer_for`` is None for live data, which goes to every child; otherwise it repeats the
    filter of the request that it answers.  ``more`` says that the answer stopped at a limit and
    that what follows must be asked for again.
    """

    pubend: Name
    frame: Frame
    answer_for: FilterText | None = None
    more: bool = False


class Nack(Message, frozen=True, gc=False):
    """A request for unknown ticks, filtered as ``filter`` says.

    ``max_bytes`` is what the source should read for each interval at most, if less than usual: the
    one who asks cannot know how dense the past is.  Who says it reads the past, and is answered in
    pieces of a bounded number of frames too.
    """

    pubend: Name
    intervals: Intervals
    filter: FilterText
    max_bytes: CountBytes = 0


class SubscriptionUpdate(Message, frozen=True):
    """What a child wants from a source; ``full`` replaces everything said before on this link."""

    root: Name
    version: Sequence
    full: bool
    added: SelectorTexts
    removed: SelectorTexts = ()


class SubscriptionConfirmed(Message, frozen=True):
    """From these ticks on, what flows down the link is complete for the child's version.

    ``earliest`` is where each pubend's log begins.
    """

    root: Name
    version: Sequence
    ticks: Positions
    earliest: Positions


class Withdrawal(Message, frozen=True):
    """A child takes its data from another parent now."""

    root: Name


class Acknowledgement(Message, frozen=True):
    """Up to these ticks an edge broker needs nothing more.

    ``durable`` says that the edge holds durable subscriptions, whose claim on the log outlives
    the edge's absence.
    """

    root: Name
    edge: Name
    durable: bool
    ticks: Positions


class DownstreamCongestionQuery(Message, frozen=True):
    """A pubend asks every edge whether it keeps up (DCQ, Section 3.1).

    ``epoch`` is the pubend's start; ``position`` the end of its stream, ``earliest`` the beginning
    of its log.
    """

    pubend: Name
    epoch: InstantLimited
    sequence: Sequence
    position: TickLimited
    earliest: TickLimited = 0


class UpstreamCongestionAlert(Message, frozen=True):
    """Some edge does not keep up (UCA, Section 3.1): the slowest live one, the slowest recovering
    one, and who they are.
    """

    pubend: Name
    epoch: InstantLimited
    sequence: Sequence
    nonrecovering: AlertReading | None
    recovering: AlertReading | None


class ThrottleNotice(Message, frozen=True):
    """A pubend tells its publishers how fast they may go, and why; 0 means without limit."""

    pubend: Name
    allowed_msgs_per_s: Rate
    observed_msgs_per_s: Rate
    since: InstantLimited
    rule: Text
    cause: Text


class WhyRequest(Message, frozen=True):
    """Asks a broker what slows one of its pubends down, or why a subscription there is behind."""

    name: Name


class WhyReply(Message, frozen=True):
    """The answer, as JSON; ``problem`` if nothing here has that name."""

    name: Name
    document: Document
    problem: Text = ""


class OpenProducer(Message, frozen=True):
    """A client is about to publish under this name, which survives its reconnections."""

    producer: Name
    pubend: Name = ""


class ProducerOpened(Message, frozen=True):
    """Where the producer's messages go, and the first sequence number that is not stored yet."""

    producer: Name
    pubend: Name
    next_sequence: Sequence


class ProducerRefused(Message, frozen=True):
    """The client cannot publish here, and why."""

    producer: Name
    reason: Text


class Publish(Message, frozen=True, gc=False):
    """Rows to publish, numbered from ``first_sequence`` by the producer."""

    producer: Name
    first_sequence: Sequence
    batch: Batch


class PublishReceipt(Message, frozen=True, gc=False):
    """The rows are durable; they stand at consecutive ticks from ``first_tick``.

    A repeat of rows that were stored before is answered with ``first_tick`` 0: durable, position
    no longer known.
    """

    producer: Name
    first_sequence: Sequence
    count: Count
    first_tick: TickLimited
    waited_ns: DurationLimited = 0
    """How long the publication was held back by the rate that is allowed."""


class PublishRefused(Message, frozen=True):
    """Nothing of these rows was stored, and why."""

    producer: Name
    first_sequence: Sequence
    count: Count
    reason: Text


class Subscribe(Message, frozen=True):
    """Start or resume a subscription.

    ``positions`` is a tick for each pubend: the end of what was consumed.  For pubends that are not
    listed, ``start`` is "now", "earliest", or "time" with ``start_time``.  A durable subscription
    that exists resumes at its own position unless ``positions`` say otherwise.

    With ``ends`` it reads ``[position, end)`` of the pubends listed there and nothing else: its
    last delivery of each ends exactly there, with or without rows.

    ``pubends`` are patterns (``*`` stands for anything) of the streams that it reads.  Without any
    it reads all that clients publish to, and of the brokers' own those that ``positions`` name.
    """

    subscription: Name
    selector: AskedSelector
    durable: bool = False
    start: Name = "now"
    start_time: TickLimited = 0
    positions: Positions = msgspec.field(default_factory=dict)
    window_bytes: CountBytes = 4 << 20
    ends: Positions = msgspec.field(default_factory=dict)
    pubends: Names = ()


class Subscribed(Message, frozen=True):
    """The subscription is in force: everything from these positions on will be delivered."""

    subscription: Name
    positions: Positions


class SubscribeRefused(Message, frozen=True):
    """The subscription was not made, and why."""

    subscription: Name
    reason: Text


class Delivery(Message, frozen=True, gc=False):
    """A piece of a stream for one subscriber: contiguous with the piece before it.

    A final frame tells of ticks that the log no longer holds: a loss, said aloud.
    """

    subscription: Name
    pubend: Name
    frame: Frame


class Taken(Message, frozen=True, gc=False):
    """The application took so many bytes of deliveries: room for more."""

    subscription: Name
    count_bytes: CountBytes


class Consumed(Message, frozen=True, gc=False):
    """The application is done with everything below these ticks."""

    subscription: Name
    ticks: Positions


class Unsubscribe(Message, frozen=True):
    """End a subscription; ``forget`` also deletes a durable one's position.

    To delete one that is not connected here is administration: it may be anybody's.
    """

    right: ClassVar[Right] = Right.ADMINISTER

    subscription: Name
    forget: bool = False

    @property
    def needed_right(self) -> Right:
        """Only deleting needs more than the use of the broker."""
        return Right.ADMINISTER if self.forget else Right.USE


class Unsubscribed(Message, frozen=True):
    """The subscription is over."""

    subscription: Name


class StreamBounds(msgspec.Struct, frozen=True):
    """What a broker knows of one pubend's stream: everything in ``[earliest, head)`` can be read.

    At or behind ``rows_end`` there is only silence so far; where the broker does not host the
    pubend it cannot know that, and ``rows_end`` is the head.
    """

    broker: Name
    earliest: TickLimited
    head: TickLimited
    rows_end: TickLimited


class DescribeStreams(Message, frozen=True):
    """Asks which pubends there are, and what of them can be read."""


class StreamsDescribed(Message, frozen=True):
    """The answer; ``problem`` if nobody on this broker has registered with the sources yet."""

    streams: Annotated[dict[Name, StreamBounds], msgspec.Meta(max_length=MOST_STREAMS)]
    problem: Text = ""


class MoveCursor(Message, frozen=True):
    """Keep the logs from these ticks on until the cursor moves again; ``forget`` deletes it."""

    cursor: Name
    ticks: Positions
    forget: bool = False


class CursorMoved(Message, frozen=True):
    """The cursor is saved there, or was refused with a reason."""

    cursor: Name
    ticks: Positions
    problem: Text = ""


class LogEntry(Message, frozen=True, gc=False):
    """What a pubend writes to its log: a frame, and whose rows they are."""

    producer: str
    first_sequence: int
    frame: Frame
