"""What the brokers of the guaranteed service say to each other, and to their clients.

Between brokers everything is about one stream (``pubend``) or one source (``root``, the broker that
hosts the pubends).  Knowledge flows down the source's tree; requests, acknowledgements and
subscriptions flow up.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.batch import Batch
from penstock.content.frame import Frame
from penstock.core.clock import Instant
from penstock.core.intervals import Interval, Tick
from penstock.core.message import Message
from penstock.guaranteed.rate_law import AlertReading

LIVE_FILTER: Final = "*"
"""Asks for whatever is subscribed behind the link at present, instead of naming a selector."""


class Knowledge(Message, frozen=True, gc=False):
    """A piece of a stream.

    ``answer_for`` is None for live data, which goes to every child; otherwise it repeats the
    filter of the request that it answers.  ``more`` says that the answer stopped at a limit and
    that what follows must be asked for again.
    """

    pubend: str
    frame: Frame
    answer_for: str | None = None
    more: bool = False


class Nack(Message, frozen=True, gc=False):
    """A request for unknown ticks, filtered as ``filter`` says.

    ``max_bytes`` is what the source should read for each interval at most, if less than usual: the
    one who asks cannot know how dense the past is.  Who says it reads the past, and is answered in
    pieces of a bounded number of frames too.
    """

    pubend: str
    intervals: tuple[Interval, ...]
    filter: str
    max_bytes: int = 0


class SubscriptionUpdate(Message, frozen=True):
    """What a child wants from a source; ``full`` replaces everything said before on this link."""

    root: str
    version: int
    full: bool
    added: tuple[str, ...]
    removed: tuple[str, ...] = ()


class SubscriptionConfirmed(Message, frozen=True):
    """From these ticks on, what flows down the link is complete for the child's version.

    ``earliest`` is where each pubend's log begins at present, ``beginnings`` where its stream once
    began: what lies between the two was published and is not kept any more.
    """

    root: str
    version: int
    ticks: dict[str, Tick]
    earliest: dict[str, Tick]
    beginnings: dict[str, Tick] = msgspec.field(default_factory=dict)


class Withdrawal(Message, frozen=True):
    """A child takes its data from another parent now."""

    root: str


class DurableClaim(msgspec.Struct, frozen=True):
    """From ``tick`` on a log must be kept; ``holder`` says for whom, in words for an operator."""

    tick: Tick
    holder: str


class Acknowledgement(Message, frozen=True):
    """What an edge broker still needs of each log of one source.

    ``live`` is where its subscribers stand; such a claim expires when the edge is silent.
    ``durable`` is what must be kept until the edge says otherwise.  Both are complete: a claim that
    an earlier statement made and that is missing here is released.  ``epoch`` is the edge's start,
    ``number`` counts its statements.  With ``confirm`` the source answers ``ClaimsSaved``.
    """

    root: str
    edge: str
    epoch: int
    number: int
    live: dict[str, Tick]
    durable: dict[str, DurableClaim]
    confirm: bool = False


class ClaimsSaved(Message, frozen=True):
    """The source has saved an edge's claims, up to this statement of it."""

    root: str
    edge: str
    epoch: int
    number: int


class DownstreamCongestionQuery(Message, frozen=True):
    """A pubend asks every edge whether it keeps up (DCQ, Section 3.1).

    ``epoch`` is the pubend's start; ``position`` the end of its stream, ``earliest`` the beginning
    of its log.
    """

    pubend: str
    epoch: int
    sequence: int
    position: Tick
    earliest: Tick = 0


class UpstreamCongestionAlert(Message, frozen=True):
    """Some edge does not keep up (UCA, Section 3.1): the slowest live one, the slowest recovering
    one, and who they are.
    """

    pubend: str
    epoch: int
    sequence: int
    nonrecovering: AlertReading | None
    recovering: AlertReading | None


class ThrottleNotice(Message, frozen=True):
    """A pubend tells its publishers how fast they may go, and why; 0 means without limit."""

    pubend: str
    allowed_msgs_per_s: float
    observed_msgs_per_s: float
    since: Instant
    rule: str
    cause: str


class WhyRequest(Message, frozen=True):
    """Asks a broker what slows one of its pubends down, or why a subscription there is behind."""

    name: str


class WhyReply(Message, frozen=True):
    """The answer, as JSON; ``problem`` if nothing here has that name."""

    name: str
    document: bytes
    problem: str = ""


class OpenProducer(Message, frozen=True):
    """A client is about to publish under this name, which survives its reconnections.

    ``instance`` is a number that the publisher chose at random when it was made.  A name has one
    publisher at a time: the latest one made takes it over.  With ``resumes`` the publisher was open
    before, and is refused if another has the name now.
    """

    producer: str
    pubend: str = ""
    instance: int = 0
    resumes: bool = False


class ProducerOpened(Message, frozen=True):
    """Where the producer's messages go, and the first sequence number that is not stored yet."""

    producer: str
    pubend: str
    next_sequence: int


class ProducerRefused(Message, frozen=True):
    """The client cannot publish here, and why.

    ``taken_over`` says that another publisher of the same name has its place.
    """

    producer: str
    reason: str
    taken_over: bool = False


class Publish(Message, frozen=True, gc=False):
    """Rows to publish, numbered from ``first_sequence`` by the producer."""

    producer: str
    first_sequence: int
    batch: Batch


class PublishReceipt(Message, frozen=True, gc=False):
    """The rows are durable; they stand at consecutive ticks from ``first_tick``.

    A repeat of rows that were stored before is answered with ``first_tick`` 0: durable, position
    no longer known.
    """

    producer: str
    first_sequence: int
    count: int
    first_tick: Tick
    waited_ns: int = 0
    """How long the publication was held back by the rate that is allowed."""


class PublishRefused(Message, frozen=True):
    """These rows have no receipt, and why.

    Nothing of them was stored, unless it is ``uncertain``: then the disk failed while they were
    being stored, and only a restart of the broker shows whether they are in the stream.
    """

    producer: str
    first_sequence: int
    count: int
    reason: str
    uncertain: bool = False


class Subscribe(Message, frozen=True):
    """Start or resume a subscription.

    ``positions`` is a tick for each pubend: the end of what was consumed.  For pubends that are not
    listed, ``start`` is "now", "earliest", or "time" with ``start_time``.  A durable subscription
    that exists resumes at its own position unless ``positions`` say otherwise.

    With ``ends`` it reads ``[position, end)`` of the pubends listed there and nothing else: its
    last delivery of each ends exactly there, with or without rows.

    ``pubends`` are patterns (``*`` stands for anything) of the streams that it reads.  Without any
    it reads all that clients publish to, and of the brokers' own those that ``positions`` name.

    ``since`` repeats what ``Subscribed`` said when the subscription was first in force; 0 if it
    never was.  Whatever a pubend without a position published since then is due.
    """

    subscription: str
    selector: str
    durable: bool = False
    start: str = "now"
    start_time: Tick = 0
    positions: dict[str, Tick] = msgspec.field(default_factory=dict)
    window_bytes: int = 4 << 20
    ends: dict[str, Tick] = msgspec.field(default_factory=dict)
    pubends: tuple[str, ...] = ()
    since: Tick = 0


class Subscribed(Message, frozen=True):
    """The subscription is in force: everything from these positions on will be delivered.

    The positions are those at which it began on this connection, whatever was delivered since.
    Pubends that turn up later are delivered from ``since`` on, by the clock of the broker.
    ``ahead_ns`` names the pubends whose streams end in the future by that clock, and by how much.
    """

    subscription: str
    positions: dict[str, Tick]
    since: Tick = 0
    ahead_ns: dict[str, int] = msgspec.field(default_factory=dict)


class SubscribeRefused(Message, frozen=True):
    """The subscription was not made, and why.

    If it is ``uncertain``, it is not in force, and a durable one may exist all the same.
    """

    subscription: str
    reason: str
    uncertain: bool = False


class Delivery(Message, frozen=True, gc=False):
    """A piece of a stream for one subscriber: contiguous with the piece before it.

    A final frame tells of ticks that the log no longer holds: a loss, said aloud.
    """

    subscription: str
    pubend: str
    frame: Frame


class Taken(Message, frozen=True, gc=False):
    """The application took so many bytes of deliveries: room for more."""

    subscription: str
    count_bytes: int


class Consumed(Message, frozen=True, gc=False):
    """The application is done with everything below these ticks."""

    subscription: str
    ticks: dict[str, Tick]


class Unsubscribe(Message, frozen=True):
    """End a subscription; ``forget`` also deletes a durable one's position."""

    subscription: str
    forget: bool = False


class Unsubscribed(Message, frozen=True):
    """The subscription is over; ``problem`` if a durable one could not be deleted.

    If that is ``uncertain``, it exists or not when the broker is started again.
    """

    subscription: str
    problem: str = ""
    uncertain: bool = False


class StreamBounds(msgspec.Struct, frozen=True):
    """What a broker knows of one pubend's stream: everything in ``[earliest, head)`` can be read.

    At or behind ``rows_end`` there is only silence so far; where the broker does not host the
    pubend it cannot know that, and ``rows_end`` is the head.
    """

    broker: str
    earliest: Tick
    head: Tick
    rows_end: Tick


class DescribeStreams(Message, frozen=True):
    """Asks which pubends there are, and what of them can be read."""


class StreamsDescribed(Message, frozen=True):
    """The answer; ``problem`` if nobody on this broker has registered with the sources yet."""

    streams: dict[str, StreamBounds]
    problem: str = ""


class MoveCursor(Message, frozen=True):
    """Keep the logs from these ticks on until the cursor moves again; ``forget`` deletes it."""

    cursor: str
    ticks: dict[str, Tick]
    forget: bool = False


class CursorMoved(Message, frozen=True):
    """The cursor is saved there, or was refused with a reason.

    If it is ``uncertain``, it may stand at either place when the broker is started again.
    """

    cursor: str
    ticks: dict[str, Tick]
    problem: str = ""
    uncertain: bool = False


class LogEntry(Message, frozen=True, gc=False):
    """What a pubend writes to its log: a frame, and whose rows they are.

    ``instance`` tells publishers of one name apart.
    """

    producer: str
    first_sequence: int
    frame: Frame
    instance: int = 0
