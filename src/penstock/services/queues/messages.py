"""The messages of the queue service, between brokers and between brokers and clients.

Every message between brokers names the brokers at both ends (``source``, ``destination``): brokers
on the path forward it.  Rows of an alias queue are identified permanently by their position in its
journal.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant
from penstock.core.intervals import Interval
from penstock.core.limits import (
    MOST_INTERVALS,
    MOST_STREAMS,
    ROWS_MARK,
    Address,
    AskedSelector,
    Count,
    Document,
    DurationLimited,
    InstantLimited,
    Intervals,
    Name,
    PriorityNumber,
    Rate,
    Sequence,
    Text,
)
from penstock.core.message import (
    PUBLISHER,
    Answer,
    BrokerMessage,
    ClientReply,
    ClientRequest,
    LocalMessage,
    LogRecord,
    Request,
    Right,
    RowsRequest,
)

DEFAULT_PRIORITY = 4
"""The middle of the ten priorities, as in JMS; 9 is the most urgent."""

HIGHEST_PRIORITY = 9

CONSUMER: Final = "consumer"
"""The role of the participants of a client's session that this service answers."""


RowFrame: TypeAlias = Annotated[Frame, Meta(extra={ROWS_MARK: True})]
RowBatch: TypeAlias = Annotated[Batch, Meta(extra={ROWS_MARK: True})]


class Routed(BrokerMessage, frozen=True, gc=False):
    """A message from one broker to another, about one alias queue and one destination queue."""

    source: Name
    destination: Address
    alias: Name
    queue: Address


# -- the forwarding transaction --------------------------------------------------------------------


class Forward(Routed, frozen=True, gc=False):
    """Rows for a destination queue, in doubt until the alias queue decides.

    Every row below ``floor`` is decided: a row below it that arrives late is a repeat.
    ``under_way`` is the number of rows, including these, that were forwarded to this destination
    and are undecided or not durably decided.
    """

    floor: Sequence
    frame: RowFrame
    priority: PriorityNumber
    expires_at: InstantLimited
    under_way: Count = 0


class Stored(Routed, frozen=True, gc=False):
    """The destination holds these rows durably, in doubt, and asks for the decision.

    ``resolved`` are rows on which it has carried out a decision, durably, as in ``Resolved``.
    """

    intervals: Intervals
    resolved: Intervals = ()


class ForwardRefused(Routed, frozen=True):
    """The destination could not store these rows; with the reason."""

    intervals: Intervals
    reason: Text


class Decision(Routed, frozen=True, gc=False):
    """Which rows in doubt belong to the destination, and which were sent elsewhere."""

    committed: Intervals
    withdrawn: Intervals


class Resolved(Routed, frozen=True, gc=False):
    """The destination has carried out the decision on these rows, durably."""

    intervals: Intervals


# -- between an alias queue and a queue of the same broker ----------------------------------------


class HandOver(LocalMessage, frozen=True, gc=False):
    """Rows that an alias queue hands to a queue of its own broker; never sent to another broker.

    ``low`` is the first row's position in the alias queue; ``producer`` and ``first_sequence``
    identify the rows (penstock.services.queues.alias.handover explains why the queue needs them).
    """

    alias: Name
    queue: Address
    low: Sequence
    batch: RowBatch
    priority: PriorityNumber
    expires_at: InstantLimited
    producer: Name
    first_sequence: Sequence


class HandedOver(LocalMessage, frozen=True, gc=False):
    """The queue owns these rows and holds them durably; or the reason why it could not take them.

    If ``uncertain``, the queue may hold them nevertheless after a restart of the broker.
    """

    alias: Name
    queue: Address
    low: Sequence
    count: Count
    failure: Text = ""
    uncertain: bool = False


class Remembered(LocalMessage, frozen=True, gc=False):
    """The alias queue's saved state covers the producers of all its rows below this position."""

    alias: Name
    queue: Address
    below: Sequence


# -- monitoring (Section IV.B) ---------------------------------------------------------------------


class Monitor(Routed, frozen=True):
    """Asks a destination queue for its consumption and load: now, and then ``times`` more times at
    intervals of ``every_ns``."""

    iteration: Sequence
    every_ns: DurationLimited = 0
    times: Count = 0


class MonitorReport(Routed, frozen=True):
    """A destination queue's consumption and load; ``problem`` says why it cannot take rows.

    ``consumed`` and ``busy_ns`` count from the start of the broker (``epoch``): the messages that
    consumers acknowledged, and how long there were messages to consume.  ``watchers`` is the number
    of alias queues that monitor it.  ``iteration`` is 0 for an unsolicited report.
    """

    iteration: Sequence
    epoch: InstantLimited
    at: InstantLimited
    load: Count
    consumed: Count
    busy_ns: DurationLimited
    consumers: Count
    watchers: Count
    problem: Text = ""


class LoadQuestion(Routed, frozen=True):
    """Asks a destination queue what the status of the alias queue should say of it.

    It is no part of the control loop: observing an alias queue does not change how it balances.
    """


class LoadAnswer(Routed, frozen=True):
    """What a destination queue has, and how fast its consumers are.

    ``messages`` are those that it owns, without prepared ones: the alias queue counts these.
    ``consumer_msgs_per_s`` is what a consumer settles in a second in which it has messages.
    """

    messages: Count
    consumers: Count
    consumer_msgs_per_s: Rate | None


# -- clients: sending ------------------------------------------------------------------------------


class SendToQueue(RowsRequest, frozen=True, gc=False):
    """Rows for a queue or an alias queue, numbered by the producer for this queue.

    ``queue`` may be ``name@broker``: the broker forwards the rows without storing them.
    ``time_to_live_ns`` of 0 means that the rows do not expire.
    """

    stored: ClassVar[bool] = True

    producer: Name
    queue: Address
    first_sequence: Sequence
    batch: RowBatch
    priority: PriorityNumber = DEFAULT_PRIORITY
    time_to_live_ns: DurationLimited = 0
    instance: Sequence = 0
    """Tells senders of one name apart (penstock.mechanisms.sequence_table)."""

    def refused(self, reason: str) -> SendRefused:
        """Answer that no row of the batch is stored."""
        count = len(self.batch)
        return SendRefused(self.producer, self.queue, self.first_sequence, count, reason)


class SendReceipt(ClientReply, frozen=True, gc=False):
    """The rows are durable, from ``first_position`` on (0: they were a repeat)."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    queue: Address
    first_sequence: Sequence
    count: Count
    first_position: Sequence


class SendRefused(ClientReply, frozen=True):
    """These rows get no receipt; with the reason.

    None of them was stored, unless ``uncertain`` is set: then some of them are in a queue and some
    are not, or the disk failed while they were being stored, and only a restart of the broker shows
    whether they are in the queue.
    ``taken_over`` means that another sender of the same name has replaced it.
    """

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    queue: Address
    first_sequence: Sequence
    count: Count
    reason: Text
    taken_over: bool = False
    uncertain: bool = False


class OpenSender(ClientRequest, frozen=True):
    """Opens a sender to this queue under a name that survives reconnections.

    A name has one sender at a time: the one created last takes it over.  With ``resumes`` the
    sender was open before, and is refused if another sender has the name now.
    """

    producer: Name
    queue: Address
    instance: Sequence = 0
    resumes: bool = False


class SenderOpened(ClientReply, frozen=True):
    """The first sequence number of this producer that is not stored; or why it may not send."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    queue: Address
    next_sequence: Sequence
    problem: Text = ""
    taken_over: bool = False


class RelayedSend(BrokerMessage, frozen=True, gc=False):
    """A client's rows, or its request to open a sender, forwarded to another broker."""

    source: Name
    destination: Address
    session: Name
    send: SendToQueue | OpenSender


class RelayedReply(BrokerMessage, frozen=True, gc=False):
    """The answer to a ``RelayedSend``, forwarded back to the client's broker."""

    source: Name
    destination: Address
    session: Name
    reply: SendReceipt | SendRefused | SenderOpened


# -- clients: receiving ----------------------------------------------------------------------------


class Receive(ClientRequest, frozen=True):
    """Become a consumer of a queue; at most ``credit`` messages are handed over until more is
    granted."""

    consumer: Name
    queue: Address
    selector: AskedSelector = ""
    credit: Count = 0


class Receiving(ClientReply, frozen=True):
    """The consumer is known to the queue; or why not."""

    role: ClassVar[str] = CONSUMER
    named_by: ClassVar[str] = "consumer"

    consumer: Name
    problem: Text = ""


class Credit(ClientRequest, frozen=True, gc=False):
    """The consumer can take ``more`` further messages."""

    quick: ClassVar[bool] = True

    consumer: Name
    more: Count


class Deliver(ClientReply, frozen=True, gc=False):
    """Messages for one consumer, at their positions in the queue.

    ``attempts`` lists the rows that were handed out before, with their number of failed attempts;
    with 0 it is not known whether the application received them.  Before the client gives one of
    these to the application, it sends ``Given``, so that a message that crashes its consumer is
    found.  ``recovered`` means that the broker has restarted since these rows arrived, so that any
    of them may have been handed out.
    """

    role: ClassVar[str] = CONSUMER
    named_by: ClassVar[str] = "consumer"

    consumer: Name
    frame: Frame
    attempts: Annotated[tuple[tuple[Sequence, Count], ...], Meta(max_length=MOST_INTERVALS)] = ()
    recovered: bool = False


class Given(ClientRequest, frozen=True, gc=False):
    """The application has received these messages: if the connection breaks before they are
    settled, that is a failed attempt.  Other messages count as never handed out."""

    quick: ClassVar[bool] = True

    consumer: Name
    intervals: Intervals


class Settle(ClientRequest, frozen=True, gc=False):
    """The outcome of messages: accepted, to be retried, returned unseen, or rejected for good."""

    quick: ClassVar[bool] = True

    consumer: Name
    number: Sequence
    accepted: Intervals = ()
    failed: Intervals = ()
    released: Intervals = ()
    rejected: Intervals = ()


class Settled(ClientReply, frozen=True, gc=False):
    """A settlement is durable; ``stale`` of its messages no longer belonged to this consumer."""

    role: ClassVar[str] = CONSUMER
    named_by: ClassVar[str] = "consumer"

    consumer: Name
    number: Sequence
    stale: Count = 0


class StopReceiving(ClientRequest, frozen=True):
    """The consumer leaves; its messages return to the queue and do not count as attempts."""

    consumer: Name


class ReceivingStopped(ClientReply, frozen=True):
    """The consumer is gone; nothing more will be delivered to it."""

    role: ClassVar[str] = CONSUMER
    named_by: ClassVar[str] = "consumer"

    consumer: Name


# -- clients: looking and changing -----------------------------------------------------------------


class Browse(Request, frozen=True):
    """Look at waiting messages from a position on, without taking them."""

    answer: ClassVar[str] = "Browsed"

    queue: Address
    selector: AskedSelector = ""
    from_position: Sequence = 0
    limit: Count = 100


class Browsed(Answer, frozen=True, gc=False):
    """Some of the waiting messages, and the position at which to continue (0: no more)."""

    frames: Annotated[tuple[Frame, ...], Meta(max_length=MOST_STREAMS)] = ()
    next_position: Sequence = 0


class PurgeQueue(Request, frozen=True):
    """Discard every message that waits (not those that consumers hold)."""

    answer: ClassVar[str] = "QueueAnswer"
    right: ClassVar[Right] = Right.ADMINISTER

    queue: Address


class ListQueues(Request, frozen=True):
    """Asks for the state of one queue, or of all (an empty name)."""

    answer: ClassVar[str] = "QueueAnswer"

    queue: Address = ""


class ChangeDestination(Request, frozen=True):
    """Add a destination to an alias queue, or retire one."""

    answer: ClassVar[str] = "QueueAnswer"
    right: ClassVar[Right] = Right.ADMINISTER

    alias: Name
    destination: Address
    retire: bool = False


class QueueAnswer(Answer, frozen=True):
    """The answer to a request about queues: a JSON document, or the problem.

    If ``uncertain``, the change is in force now but may not survive a restart.
    """

    document: Document = b""


class DeadLetter(LocalMessage, frozen=True, gc=False):
    """Dead letters from one queue of a broker to another; never sent to another broker."""

    queue: Address
    target: Address
    intervals: Intervals
    batch: Batch


class LetterBuried(LocalMessage, frozen=True, gc=False):
    """The dead-letter queue holds these rows of a queue durably; or why it could not take them."""

    queue: Address
    intervals: Intervals
    failure: Text = ""


# -- the journal -----------------------------------------------------------------------------------


class RowsEntry(LogRecord, frozen=True, gc=False):
    """Rows in a journal, with their origin, priority and expiry.

    Rows that an alias queue of the same broker handed over also name their producer and the
    sequence number of the first row there.
    """

    frame: Frame
    origin: str
    first_sequence: int
    priority: int
    expires_at: Instant
    in_doubt: bool = False
    producer: str = ""
    producer_sequence: int = 0


class SenderEntry(LogRecord, frozen=True, gc=False):
    """A note in a journal: this instance has an origin's name from here on."""

    frame: Frame
    origin: str
    instance: int


class SettlementEntry(LogRecord, frozen=True, gc=False):
    """A note in a queue's journal: rows that are settled, that had failed attempts, or that the
    alias queue committed to this queue."""

    frame: Frame
    settled: tuple[Interval, ...]
    attempts: tuple[tuple[int, int, int], ...] = ()
    committed: tuple[Interval, ...] = ()


class DecisionEntry(LogRecord, frozen=True, gc=False):
    """A note in an alias queue's journal: these rows belong to that destination.

    ``origins`` are the producers, first numbers and counts of the rows among them that were never
    stored in the journal, so that a repeat of them is recognised after a restart.
    """

    frame: Frame
    destination: str
    intervals: tuple[Interval, ...]
    origins: tuple[tuple[str, int, int], ...] = ()
