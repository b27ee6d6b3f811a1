"""The whole vocabulary of the wire: every message type that a connection may carry."""

from __future__ import annotations

from penstock.content.codec.wire import Decoder
from penstock.core.message import Message
from penstock.overlay import messages as overlay
from penstock.services.datagram import messages as datagram
from penstock.services.guaranteed import messages as guaranteed
from penstock.services.guaranteed.staging import messages as staging
from penstock.services.multicast import messages as multicast
from penstock.services.queues import messages as queues

OVERLAY_MESSAGES: tuple[type[Message], ...] = (
    overlay.LinkState,
    overlay.Hello,
    overlay.Goodbye,
    overlay.Heartbeat,
    overlay.StatusRequest,
    overlay.Status,
    overlay.LinkControl,
    overlay.LinkControlled,
)

GUARANTEED_MESSAGES: tuple[type[Message], ...] = (
    guaranteed.Knowledge,
    guaranteed.Nack,
    guaranteed.SubscriptionUpdate,
    guaranteed.SubscriptionConfirmed,
    guaranteed.Withdrawal,
    guaranteed.Acknowledgement,
    guaranteed.ClaimsSaved,
    guaranteed.DownstreamCongestionQuery,
    guaranteed.UpstreamCongestionAlert,
    guaranteed.ThrottleNotice,
    guaranteed.WhyRequest,
    guaranteed.WhyReply,
    guaranteed.OpenProducer,
    guaranteed.CloseProducer,
    guaranteed.ProducerOpened,
    guaranteed.ProducerRefused,
    guaranteed.Publish,
    guaranteed.PublishReceipt,
    guaranteed.PublishRefused,
    guaranteed.Subscribe,
    guaranteed.Subscribed,
    guaranteed.SubscribeRefused,
    guaranteed.Delivery,
    guaranteed.Taken,
    guaranteed.Consumed,
    guaranteed.Unsubscribe,
    guaranteed.Unsubscribed,
    guaranteed.DescribeStreams,
    guaranteed.StreamsDescribed,
    guaranteed.MoveCursor,
    guaranteed.CursorMoved,
    staging.StageRows,
    staging.RowsStaged,
    staging.CommitStages,
    staging.StagesCommitted,
    staging.DropStages,
    staging.StagesDropped,
)

QUEUES_MESSAGES: tuple[type[Message], ...] = (
    queues.Forward,
    queues.Stored,
    queues.ForwardRefused,
    queues.Decision,
    queues.Resolved,
    queues.Monitor,
    queues.MonitorReport,
    queues.SendToQueue,
    queues.SendReceipt,
    queues.SendRefused,
    queues.OpenSender,
    queues.SenderOpened,
    queues.RelayedSend,
    queues.RelayedReply,
    queues.Receive,
    queues.Receiving,
    queues.Credit,
    queues.Deliver,
    queues.Given,
    queues.Settle,
    queues.Settled,
    queues.StopReceiving,
    queues.ReceivingStopped,
    queues.Browse,
    queues.Browsed,
    queues.PurgeQueue,
    queues.ListQueues,
    queues.ChangeDestination,
    queues.QueueAnswer,
)

MULTICAST_MESSAGES: tuple[type[Message], ...] = (
    multicast.Membership,
    multicast.MembershipChange,
    multicast.MembershipTold,
    multicast.MembershipWanted,
    multicast.Prices,
    multicast.Multicast,
    multicast.MulticastReceived,
    multicast.OpenGroupSender,
    multicast.CloseGroupSender,
    multicast.GroupSenderOpened,
    multicast.SendToGroups,
    multicast.GroupSendReceipt,
    multicast.GroupSendRefused,
    multicast.JoinGroup,
    multicast.GroupJoined,
    multicast.LeaveGroup,
    multicast.GroupLeft,
    multicast.GroupView,
    multicast.GroupDelivery,
    multicast.GroupTaken,
    multicast.AskGroups,
    multicast.WhySender,
    multicast.GroupsAnswer,
)

DATAGRAM_MESSAGES: tuple[type[Message], ...] = (
    datagram.OpenDatagram,
    datagram.DatagramOpened,
    datagram.CloseDatagram,
    datagram.SubscribeDatagrams,
    datagram.DatagramsSubscribed,
    datagram.UnsubscribeDatagrams,
    datagram.DatagramWhyRequest,
    datagram.DatagramWhyReply,
    datagram.DatagramWhyQuestion,
    datagram.DatagramWhyAnswer,
    datagram.DatagramSocketRequest,
    datagram.DatagramSocketOffer,
    datagram.SourceAnnouncement,
    datagram.Interest,
    datagram.DatagramPort,
)
"""What travels on connections; the rest of the service's messages are datagrams."""

SERVICE_OF_MESSAGE: dict[type[Message], int] = {
    **dict.fromkeys(GUARANTEED_MESSAGES, 0),
    **dict.fromkeys(QUEUES_MESSAGES, 1),
    **dict.fromkeys(MULTICAST_MESSAGES, 2),
    **dict.fromkeys(DATAGRAM_MESSAGES + datagram.DATAGRAMS, 3),
}
"""Which of a broker's services a message is for, by its place in the broker."""

LOG_MESSAGES: tuple[type[Message], ...] = (
    guaranteed.LogEntry,
    queues.RowsEntry,
    queues.SenderEntry,
    queues.SettlementEntry,
    queues.DecisionEntry,
)


def connection_decoder() -> Decoder[Message]:
    """Reads whatever may arrive on a connection."""
    return Decoder(
        OVERLAY_MESSAGES
        + GUARANTEED_MESSAGES
        + QUEUES_MESSAGES
        + MULTICAST_MESSAGES
        + DATAGRAM_MESSAGES
    )


def log_decoder() -> Decoder[Message]:
    """Reads what a broker wrote to its logs."""
    return Decoder(LOG_MESSAGES)
