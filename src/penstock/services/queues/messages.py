"""What the queue service's brokers say to each other and to their clients.

Between brokers every message names the brokers at both ends (``source``, ``destination``): brokers
on the way pass it on.  Rows of an alias queue are named by their position in its journal, for ever.
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
"""The participants of a client's session that this service answers."""


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
    ``under_way`` rows, these included, were forwarded to this destination and are undecided or not
    durably decided.
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
    """The destination could not store these rows, and why."""

    intervals: Intervals
    reason: Text


class Decision(Routed, frozen=True, gc=False):
    """Which of the rows in doubt are the destination's, and which went elsewhere."""

    committed: Intervals
    withdrawn: Intervals


class Resolved(Routed, frozen=True, gc=False):
    """The destination has carried out the decision on these rows, durably."""

    intervals: Intervals


# -- between an alias queue and a queue of the same broker ----------------------------------------


class HandOver(LocalMessage, frozen=True, gc=False):
    """Rows that an alias queue leaves to a queue of its own broker; never leaves it.

    ``low`` is the first row's position in the alias queue, ``producer`` and ``first_sequence`` are
    whose rows they are (penstock.services.queues.alias.handover says why the queue has to know).
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
    """The queue holds these rows durably, and they are its own; or why it could not take them.

    If it is ``uncertain``, it may hold them all the same when the broker is started again.
    """

    alias: Name
    queue: Address
    low: Sequence
    count: Count
    failure: Text = ""
    uncertain: bool = False


class Remembered(LocalMessage, frozen=True, gc=False):
    """The alias queue's own save names the producers of all rows below this position of its."""

    alias: Name
    queue: Address
    below: Sequence


# -- monitoring (Section IV.B) ---------------------------------------------------------------------


class Monitor(Routed, frozen=True):
    """Asks a destination queue for its consumption and load: now, and then so many ``times`` at
    every interval."""

    iteration: Sequence
    every_ns: DurationLimited = 0
    times: Count = 0


class MonitorReport(Routed, frozen=True):
    """A destination queue's account of itself; ``problem`` says why it can take nothing.

    ``consumed`` and ``busy_ns`` count from the start of the broker (``epoch``): what was
    acknowledged by consumers, and for how long there was something to consume.  ``watchers`` is
    how many alias queues ask.  ``iteration`` is 0 when nobody asked.
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


# -- clients: sending ------------------------------------------------------------------------------


class SendToQueue(RowsRequest, frozen=True, gc=False):
    """Rows for a queue or an alias queue, numbered by the producer for this queue.

    ``queue`` may be ``name@broker``: the broker passes the rows on without keeping them.
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
        """Nothing of the batch is stored."""
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
    """These rows have no receipt, and why.

    Nothing of them was stored, unless it is ``uncertain``: then the disk failed while they were
    being stored, and only a restart of the broker shows whether they are in the queue.
    ``taken_over`` says that another sender of the same name has its place.
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
    """A client is about to send to this queue under a name that survives its reconnections.

    A name has one sender at a time: the latest one made takes it over.  With ``resumes`` the sender
    was open before, and is refused if another has the name now.
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
    """A client's rows, or its question where it stands, on their way to another broker."""

    source: Name
    destination: Address
    session: Name
    send: SendToQueue | OpenSender


class RelayedReply(BrokerMessage, frozen=True, gc=False):
    """The answer on its way back to the client."""

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
    """The consumer can take so many messages more."""

    quick: ClassVar[bool] = True

    consumer: Name
    more: Count


class Deliver(ClientReply, frozen=True, gc=False):
    """Messages for one consumer, at their positions in the queue.

    ``attempts`` lists the rows that were handed out before and how often in vain; with 0 it is not
    known whether the application was given them.  Before one of these is given, the broker is told
    (``Given``), so that a message that kills its consumer is found.  ``recovered`` says that the
    broker restarted since these rows arrived, so that any of them may have been handed out.
    """

    role: ClassVar[str] = CONSUMER
    named_by: ClassVar[str] = "consumer"

    consumer: Name
    frame: Frame
    attempts: Annotated[tuple[tuple[Sequence, Count], ...], Meta(max_length=MOST_INTERVALS)] = ()
    recovered: bool = False


class Given(ClientRequest, frozen=True, gc=False):
    """The application has these messages in its hands: if the connection breaks before they are
    settled, they were tried in vain.  What it has not been given counts as never handed out."""

    quick: ClassVar[bool] = True

    consumer: Name
    intervals: Intervals


class Settle(ClientRequest, frozen=True, gc=False):
    """What became of messages: done, to be tried again, given back unseen, or hopeless."""

    quick: ClassVar[bool] = True

    consumer: Name
    number: Sequence
    accepted: Intervals = ()
    failed: Intervals = ()
    released: Intervals = ()
    rejected: Intervals = ()


class Settled(ClientReply, frozen=True, gc=False):
    """A settlement is durable; ``stale`` of its messages were not this consumer's any more."""

    role: ClassVar[str] = CONSUMER
    named_by: ClassVar[str] = "consumer"

    consumer: Name
    number: Sequence
    stale: Count = 0


class StopReceiving(ClientRequest, frozen=True):
    """The consumer leaves; what it holds returns to the queue, uncounted."""

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
    """Some of the waiting messages, and where to look on (0: that was all)."""

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

    If it is ``uncertain``, what was asked for holds now and may not outlive a restart.
    """

    document: Document = b""


class DeadLetter(LocalMessage, frozen=True, gc=False):
    """Hopeless rows on their way from one queue of a broker to another; never leaves it."""

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
    """Rows in a journal: whose they are, and how urgent and lasting.

    Rows that an alias queue of the same broker handed over name its producer, too, and the number
    that the first of them has there.
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
    """A note in a queue's journal: rows that are gone, that were tried in vain, or that the alias
    queue left to this queue."""

    frame: Frame
    settled: tuple[Interval, ...]
    attempts: tuple[tuple[int, int, int], ...] = ()
    committed: tuple[Interval, ...] = ()


class DecisionEntry(LogRecord, frozen=True, gc=False):
    """A note in an alias queue's journal: these rows are that destination's.

    ``origins`` are the producers, first numbers and counts of the rows among them that were never
    stored in the journal, so that a repeat of them is known after a restart.
    """

    frame: Frame
    destination: str
    intervals: tuple[Interval, ...]
    origins: tuple[tuple[str, int, int], ...] = ()
