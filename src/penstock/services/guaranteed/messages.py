"""The messages of the guaranteed service, between brokers and between brokers and clients.

Each message between brokers concerns one stream (``pubend``) or one source (``root``, the broker
that hosts the pubends).  Knowledge flows down the source's tree; requests, acknowledgements and
subscriptions flow up.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.limits import LIVE_FILTER as LIVE_FILTER
from penstock.core.limits import (
    MOST_STREAMS,
    Address,
    AskedSelector,
    Count,
    CountBytes,
    DurationLimited,
    Durations,
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
    TreeName,
)
from penstock.core.message import (
    PUBLISHER,
    Answer,
    BrokerMessage,
    ClientReply,
    ClientRequest,
    LogRecord,
    Request,
    Right,
    RowsRequest,
)
from penstock.services.guaranteed.laws.answer_round_trips import AnswerOrigin
from penstock.services.guaranteed.laws.rate_law import AlertReading

SUBSCRIPTION: Final = "subscription"
"""The role of the participant of a client's session that receives deliveries."""


class Knowledge(BrokerMessage, frozen=True, gc=False):
    """A piece of a stream.

    ``answer_for`` is None for live data, which goes to every child; otherwise it repeats the
    filter of the request that it answers.  ``more`` means that the answer stopped at a limit and
    that the rest must be requested again; ``origin`` tells where an answer comes from.
    """

    pubend: Name
    frame: Frame
    answer_for: FilterText | None = None
    more: bool = False
    origin: AnswerOrigin | None = None


class Nack(BrokerMessage, frozen=True, gc=False):
    """A request for unknown ticks, filtered by ``filter``.

    ``max_bytes`` limits what is answered for each interval, if it is less than usual: the requester
    cannot know how dense the past is.  ``recovers`` tells that a live stream recovers, as others
    may at the same time; a request without it reads the past, and is also answered in pieces of a
    bounded number of frames.  ``joins`` tells that such a reader will join the live stream: it
    waits for messages as others do, and its answers need not yield to them.
    """

    pubend: Name
    intervals: Intervals
    filter: FilterText
    max_bytes: CountBytes = 0
    recovers: bool = False
    joins: bool = False


class SubscriptionUpdate(BrokerMessage, frozen=True):
    """A child's selectors in a tree; ``full`` replaces all earlier updates on this link."""

    tree: TreeName
    version: Sequence
    full: bool
    added: SelectorTexts
    removed: SelectorTexts = ()


class SubscriptionConfirmed(BrokerMessage, frozen=True):
    """From these ticks on, the data on the link is complete for the child's version.

    ``earliest`` is the present start of each pubend's log, ``beginnings`` the start of its stream:
    messages between the two were published and are no longer kept.
    """

    tree: TreeName
    version: Sequence
    ticks: Positions
    earliest: Positions
    beginnings: Positions = msgspec.field(default_factory=dict)


class Withdrawal(BrokerMessage, frozen=True):
    """A child receives its data from another parent now."""

    tree: TreeName


class DurableClaim(msgspec.Struct, frozen=True):
    """A log must be kept from ``tick`` on; ``holder`` describes the claimant for an operator."""

    tick: TickLimited
    holder: Text


class Acknowledgement(BrokerMessage, frozen=True):
    """The parts of each log of one source that an edge broker still needs.

    ``live`` holds the positions of its live subscribers; such a claim expires when the edge is
    silent.  ``durable`` claims are kept until the edge releases them.  Both are complete: a claim
    of an earlier statement that is missing here is released.  ``epoch`` is the edge's start,
    ``number`` counts its statements.  With ``confirm`` the source answers ``ClaimsSaved``.
    """

    root: Name
    edge: Name
    epoch: InstantLimited
    number: Sequence
    live: Positions
    durable: Annotated[dict[Name, DurableClaim], Meta(max_length=MOST_STREAMS)]
    confirm: bool = False


class ClaimsSaved(BrokerMessage, frozen=True):
    """The source has saved an edge's claims, up to this statement of the edge."""

    root: Name
    edge: Name
    epoch: InstantLimited
    number: Sequence


class DownstreamCongestionQuery(BrokerMessage, frozen=True):
    """A pubend asks every edge whether it keeps up (DCQ, Section 3.1).

    ``epoch`` is the pubend's start; ``position`` the end of its stream, ``earliest`` the beginning
    of its log.
    """

    pubend: Name
    epoch: InstantLimited
    sequence: Sequence
    position: TickLimited
    earliest: TickLimited = 0


class UpstreamCongestionAlert(BrokerMessage, frozen=True):
    """Some edge does not keep up (UCA, Section 3.1): readings of the slowest live edge and of the
    slowest recovering edge, with their names.
    """

    pubend: Name
    epoch: InstantLimited
    sequence: Sequence
    nonrecovering: AlertReading | None
    recovering: AlertReading | None


class FullLinkReport(BrokerMessage, frozen=True):
    """Live data of a pubend waits on a link of a relay; it goes up to the source.

    ``bytes_per_s`` is what the link takes of this pubend, 0 while that is not known.
    """

    pubend: Name
    link: Address
    waiting_bytes: CountBytes
    bytes_per_s: Rate


class ThrottleNotice(ClientReply, frozen=True):
    """A pubend tells its publishers the allowed rate and its cause; 0 means without limit.

    ``rule`` and ``cause`` are sentences for people.  Programs read ``rule_code``, the broker that
    does not keep up (``bottleneck_broker``) and the fullest link on the way to it
    (``bottleneck_link``, empty if nothing is queued).
    """

    role: ClassVar[str] = PUBLISHER
    to_all: ClassVar[bool] = True

    pubend: Name
    allowed_msgs_per_s: Rate
    observed_msgs_per_s: Rate
    since: InstantLimited
    rule: Text
    cause: Text
    rule_code: Name = ""
    bottleneck_broker: Name = ""
    bottleneck_link: Address = ""


class OpenProducer(ClientRequest, frozen=True):
    """Opens a publisher under a name that survives reconnections.

    ``instance`` is a number that the publisher chose at random when it was created.  A name has one
    publisher at a time: the one created last takes it over.  With ``resumes`` the publisher was
    open before, and is refused if another publisher has the name now.
    """

    producer: Name
    pubend: Name = ""
    instance: Sequence = 0
    resumes: bool = False


class ProducerOpened(ClientReply, frozen=True):
    """The pubend of the producer, and its first sequence number that is not stored yet."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    pubend: Name
    next_sequence: Sequence


class ProducerRefused(ClientReply, frozen=True):
    """The client cannot publish here; with the reason.

    ``taken_over`` means that another publisher of the same name has replaced it.
    """

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    reason: Text
    taken_over: bool = False


class CloseProducer(ClientRequest, frozen=True):
    """The client stops publishing under this name on this connection; there is no answer."""

    producer: Name


class Publish(RowsRequest, frozen=True, gc=False):
    """Rows to publish, numbered from ``first_sequence`` by the producer."""

    stored: ClassVar[bool] = True

    producer: Name
    first_sequence: Sequence
    batch: Batch

    def refused(self, reason: str) -> PublishRefused:
        """Answer that no row of the batch is stored."""
        return PublishRefused(self.producer, self.first_sequence, len(self.batch), reason)


class PublishReceipt(ClientReply, frozen=True, gc=False):
    """The rows are durable; they stand at consecutive ticks from ``first_tick``.

    A repeat of rows that were stored before is answered with ``first_tick`` 0: durable, position
    no longer known.
    """

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    first_sequence: Sequence
    count: Count
    first_tick: TickLimited
    waited_ns: DurationLimited = 0
    """How long the allowed rate held the publication back."""


class PublishRefused(ClientReply, frozen=True):
    """These rows get no receipt; with the reason.

    None of them was stored, unless ``uncertain`` is set: then the disk failed while they were
    being stored, and only a restart of the broker shows whether they are in the stream.
    """

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    first_sequence: Sequence
    count: Count
    reason: Text
    uncertain: bool = False


class Subscribe(ClientRequest, frozen=True):
    """Start or resume a subscription.

    ``positions`` is a tick for each pubend: the end of what was consumed.  For pubends that are not
    listed, ``start`` is "now", "earliest", or "time" with ``start_time``.  A durable subscription
    that exists resumes at its own position unless ``positions`` say otherwise.

    With ``ends`` it reads ``[position, end)`` of the pubends listed there and nothing else: its
    last delivery of each ends exactly there, with or without rows.

    ``pubends`` are patterns (``*`` stands for anything) of the streams that it reads.  Without any
    it reads all that clients publish to, and of the brokers' own those that ``positions`` name.

    ``since`` repeats what ``Subscribed`` said when the subscription was first in force; 0 if it
    never was.  All that a pubend without a position has published since then is delivered.
    """

    windowed: ClassVar[bool] = True

    subscription: Name
    selector: AskedSelector
    durable: bool = False
    start: Name = "now"
    start_time: TickLimited = 0
    positions: Positions = msgspec.field(default_factory=dict)
    window_bytes: CountBytes = 4 << 20
    ends: Positions = msgspec.field(default_factory=dict)
    pubends: Names = ()
    since: TickLimited = 0


class Subscribed(ClientReply, frozen=True):
    """The subscription is in force: everything from these positions on will be delivered.

    The positions are those at which it began on this connection, regardless of later deliveries.
    Pubends that appear later are delivered from ``since`` on, by the clock of the broker.
    ``ahead_ns`` names the pubends whose streams end in the future by that clock, and by how much.
    """

    role: ClassVar[str] = SUBSCRIPTION
    named_by: ClassVar[str] = "subscription"

    subscription: Name
    positions: Positions
    since: TickLimited = 0
    ahead_ns: Durations = msgspec.field(default_factory=dict)


class SubscribeRefused(ClientReply, frozen=True):
    """The subscription was not created; with the reason.

    If ``uncertain``, it is not in force, but a durable one may exist nevertheless.
    """

    role: ClassVar[str] = SUBSCRIPTION
    named_by: ClassVar[str] = "subscription"

    subscription: Name
    reason: Text
    uncertain: bool = False


class Delivery(ClientReply, frozen=True, gc=False):
    """A piece of a stream for one subscriber: contiguous with the piece before it.

    A final frame covers ticks that the log no longer holds, and so reports a loss explicitly.
    """

    role: ClassVar[str] = SUBSCRIPTION
    named_by: ClassVar[str] = "subscription"

    subscription: Name
    pubend: Name
    frame: Frame


class Taken(ClientRequest, frozen=True, gc=False):
    """The application took ``count_bytes`` of deliveries, which frees the window for more."""

    quick: ClassVar[bool] = True

    subscription: Name
    count_bytes: CountBytes


class Consumed(ClientRequest, frozen=True, gc=False):
    """The application is done with everything below these ticks."""

    quick: ClassVar[bool] = True

    subscription: Name
    ticks: Positions


class Unsubscribe(ClientRequest, frozen=True):
    """End a subscription; ``forget`` also deletes a durable one's position.

    Deleting one that is not connected here is administration: it may belong to another client.
    """

    right: ClassVar[Right] = Right.ADMINISTER

    subscription: Name
    forget: bool = False

    @property
    def needed_right(self) -> Right:
        """Only deleting needs more than ``Right.USE``."""
        return Right.ADMINISTER if self.forget else Right.USE

    def refused(self, reason: str) -> SubscribeRefused:
        """Refuse, with the hint that the subscription's owner may delete it without the right."""
        hint = f"{reason}; or connect to the subscription and delete it from there"
        return SubscribeRefused(self.subscription, hint)


class Unsubscribed(ClientReply, frozen=True):
    """The subscription has ended; ``problem`` is set if a durable one could not be deleted.

    If ``uncertain``, only a restart of the broker shows whether it still exists.
    """

    role: ClassVar[str] = SUBSCRIPTION
    named_by: ClassVar[str] = "subscription"

    subscription: Name
    problem: Text = ""
    uncertain: bool = False


class StreamBounds(msgspec.Struct, frozen=True):
    """The bounds of one pubend's stream: everything in ``[earliest, head)`` can be read.

    From ``rows_end`` on there is only silence so far; a broker that does not host the pubend cannot
    know this, and sets ``rows_end`` to the head.
    """

    broker: Name
    earliest: TickLimited
    head: TickLimited
    rows_end: TickLimited


class DescribeStreams(Request, frozen=True):
    """Asks for all pubends, and which part of each can be read."""

    answer: ClassVar[str] = "StreamsDescribed"
    repeatable: ClassVar[bool] = True


class StreamsDescribed(Answer, frozen=True):
    """The answer; ``problem`` is set if this broker has not registered with the sources yet."""

    streams: Annotated[dict[Name, StreamBounds], msgspec.Meta(max_length=MOST_STREAMS)] = (
        msgspec.field(default_factory=dict)
    )


class MoveCursor(Request, frozen=True):
    """Keep the logs from these ticks on until the cursor moves again; ``forget`` deletes it."""

    answer: ClassVar[str] = "CursorMoved"
    repeatable: ClassVar[bool] = True

    cursor: Name
    ticks: Positions
    forget: bool = False


class CursorMoved(Answer, frozen=True):
    """The cursor is saved at these ticks, or was refused with a reason.

    If ``uncertain``, it may be at the old or the new ticks after a restart of the broker.
    """

    cursor: Name = ""
    ticks: Positions = msgspec.field(default_factory=dict)


class LogEntry(LogRecord, frozen=True, gc=False):
    """An entry of a pubend's log: a frame, and the producer of its rows.

    ``instance`` tells publishers of one name apart.
    """

    producer: str
    first_sequence: int
    frame: Frame
    instance: int = 0
