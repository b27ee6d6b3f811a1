"""What may come in: the vocabulary of each kind of peer, and the limits on clients.

The machines inside trust what reaches them.  Here is where that trust is earned.  The limits of
single values are those of the messages' types, which the decoder has enforced before
(``core/limits.py``), and what types cannot say is asked of ``overlay/gate.py``; beyond that:

1. A client speaks only the clients' messages, a neighbour only the brokers'.  Anything else is a
   breach of protocol and ends the connection.
2. Whatever a client publishes is read once, whole, so that damaged rows stop here and not at some
   broker far away that cannot tell who sent them.
3. Rows that are well-formed and break a limit are refused with the limit's name, and the
   connection goes on.
4. A subscription's window is cut to what one subscription may have under way.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock
from penstock.content.rows.columns import Array, Column
from penstock.core.message import Message
from penstock.net.broker.config import Limits
from penstock.overlay import messages as overlay
from penstock.overlay.gate import objection
from penstock.services.datagram import messages as datagram
from penstock.services.guaranteed import messages as guaranteed
from penstock.services.guaranteed.staging import messages as staging
from penstock.services.multicast import messages as multicast
from penstock.services.queues import messages as queues

CLIENT_REQUESTS: Final[frozenset[type[Message]]] = frozenset(
    (
        guaranteed.OpenProducer,
        guaranteed.CloseProducer,
        guaranteed.Publish,
        guaranteed.Subscribe,
        guaranteed.Taken,
        guaranteed.Consumed,
        guaranteed.Unsubscribe,
        guaranteed.WhyRequest,
        guaranteed.DescribeStreams,
        guaranteed.MoveCursor,
        staging.StageRows,
        staging.CommitStages,
        staging.DropStages,
        multicast.OpenGroupSender,
        multicast.CloseGroupSender,
        multicast.SendToGroups,
        multicast.JoinGroup,
        multicast.LeaveGroup,
        multicast.GroupTaken,
        multicast.AskGroups,
        multicast.WhySender,
        queues.OpenSender,
        queues.SendToQueue,
        queues.Receive,
        queues.Credit,
        queues.Given,
        queues.Settle,
        queues.StopReceiving,
        queues.Browse,
        queues.PurgeQueue,
        queues.ListQueues,
        queues.ChangeDestination,
        datagram.OpenDatagram,
        datagram.CloseDatagram,
        datagram.SubscribeDatagrams,
        datagram.UnsubscribeDatagrams,
        datagram.DatagramSocketRequest,
        datagram.DatagramWhyRequest,
        datagram.DatagramWhyAnswer,
        overlay.StatusRequest,
        overlay.LinkControl,
    )
)
"""All that a client may say after its Hello."""

CLIENT_REPLIES: Final[frozenset[type[Message]]] = frozenset(
    (
        guaranteed.ProducerOpened,
        guaranteed.ProducerRefused,
        guaranteed.PublishReceipt,
        guaranteed.PublishRefused,
        guaranteed.Subscribed,
        guaranteed.SubscribeRefused,
        guaranteed.Delivery,
        guaranteed.Unsubscribed,
        guaranteed.ThrottleNotice,
        guaranteed.WhyReply,
        guaranteed.StreamsDescribed,
        guaranteed.CursorMoved,
        staging.RowsStaged,
        staging.StagesCommitted,
        staging.StagesDropped,
        multicast.GroupSenderOpened,
        multicast.GroupSendReceipt,
        multicast.GroupSendRefused,
        multicast.GroupJoined,
        multicast.GroupLeft,
        multicast.GroupView,
        multicast.GroupDelivery,
        multicast.GroupsAnswer,
        queues.SenderOpened,
        queues.SendReceipt,
        queues.SendRefused,
        queues.Receiving,
        queues.Deliver,
        queues.Settled,
        queues.ReceivingStopped,
        queues.Browsed,
        queues.QueueAnswer,
        datagram.DatagramOpened,
        datagram.DatagramsSubscribed,
        datagram.DatagramSocketOffer,
        datagram.DatagramWhyReply,
        datagram.DatagramWhyQuestion,
        overlay.Status,
        overlay.LinkControlled,
    )
)
"""All that a client is told."""

WITH_ROWS: Final = (
    guaranteed.Publish,
    queues.SendToQueue,
    staging.StageRows,
    multicast.SendToGroups,
)
"""What brings rows in from a client."""

NOT_BETWEEN_BROKERS: Final = CLIENT_REQUESTS | CLIENT_REPLIES | {overlay.Hello}


class Breach(Exception):
    """The peer does not keep to the protocol; its connection must end."""


class Refused(Exception):
    """A request breaks a limit; the client is told so and goes on."""


def check_neighbour(message: Message) -> None:
    """Let a message from a neighbour pass, or raise ``Breach``."""
    if type(message) in NOT_BETWEEN_BROKERS:
        raise Breach(f"{type(message).__name__} is not a message between brokers")
    problem = objection(message)
    if problem:
        raise Breach(problem)


class Ingress:
    """Checks what clients send."""

    def __init__(self, limits: Limits) -> None:
        """These limits hold for every session."""
        self._limits = limits

    def check_client(self, message: Message) -> Message:
        """The message to hand on; raises ``Breach`` or ``Refused``."""
        if isinstance(message, WITH_ROWS):
            self._check_batch(message.batch)
        elif isinstance(message, guaranteed.Subscribe):
            window_bytes = min(message.window_bytes, self._limits.max_window_bytes)
            if window_bytes <= 0:
                raise Breach(f"subscription {message.subscription!r} has no window")
            if window_bytes < message.window_bytes:
                return msgspec.structs.replace(message, window_bytes=window_bytes)
        elif type(message) not in CLIENT_REQUESTS:
            raise Breach(f"{type(message).__name__} is not a message that a client may send")
        elif problem := objection(message):
            raise Breach(problem)
        return message

    def _check_batch(self, batch: Batch) -> None:
        if not self._clearly_fine(batch):
            self._check_closely(batch)

    def _clearly_fine(self, batch: Batch) -> bool:
        """Whether the bytes alone say that nothing is wrong, which is the rule."""
        limits = self._limits
        extent = batch.extent()
        return (
            extent is not None
            and 0 < len(batch) <= limits.max_batch_rows
            and extent.columns <= limits.max_attributes
            and extent.name_bytes <= limits.max_name_bytes
            and extent.value_bytes <= limits.max_value_bytes
            and extent.payload_bytes <= limits.max_payload_bytes
        )

    def _check_closely(self, batch: Batch) -> None:
        limits = self._limits
        try:
            batch.validate()
        except MalformedBlock as error:
            raise Breach(f"malformed batch: {error}") from None
        if not len(batch):
            raise Breach("a publication without rows")
        if len(batch) > limits.max_batch_rows:
            raise Refused(
                f"a batch of {len(batch)} rows; at most {limits.max_batch_rows} are accepted "
                "(max_batch_rows): publish fewer at once"
            )
        self._check_attributes(batch)
        longest = _longest(batch.payloads[0])
        if longest > limits.max_payload_bytes:
            raise Refused(
                f"a payload of {longest} bytes; at most {limits.max_payload_bytes} are accepted "
                "(max_payload_bytes)"
            )

    def _check_attributes(self, batch: Batch) -> None:
        limits = self._limits
        columns = batch.columns
        if len(columns) > limits.max_attributes:
            most = _most_attributes(len(batch), columns)
            if most > limits.max_attributes:
                raise Refused(
                    f"a message with {most} attributes; at most {limits.max_attributes} are "
                    "accepted (max_attributes)"
                )
        for column in columns:
            # A character takes at most four bytes, so most names need no encoding to be measured.
            if (
                4 * len(column.name) > limits.max_name_bytes
                and len(column.name.encode()) > limits.max_name_bytes
            ):
                raise Refused(
                    f"an attribute name that begins {column.name[:32]!r} is longer than "
                    f"{limits.max_name_bytes} bytes (max_name_bytes)"
                )
            dictionary = column.encoded_dictionary
            if dictionary is None or len(dictionary.data) <= limits.max_value_bytes:
                continue
            longest = _longest(dictionary.offsets)
            if longest > limits.max_value_bytes:
                raise Refused(
                    f"attribute {column.name!r} holds {longest} bytes; at most "
                    f"{limits.max_value_bytes} are accepted (max_value_bytes): put large values "
                    "into the payload"
                )


def _longest(offsets: Array) -> int:
    return int(np.diff(offsets).max(initial=0))


def _most_attributes(rows: int, columns: tuple[Column, ...]) -> int:
    counts = np.zeros(rows, np.int64)
    for column in columns:
        counts += 1 if column.present is None else column.present
    return int(counts.max(initial=0))
