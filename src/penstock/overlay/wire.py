"""The whole vocabulary of the wire: every message type that a connection may carry."""

from __future__ import annotations

from penstock.content.wire import Decoder
from penstock.core.message import Message
from penstock.guaranteed import messages as guaranteed
from penstock.overlay import messages as overlay

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
    guaranteed.OpenProducer,
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
)

SERVICE_OF_MESSAGE: dict[type[Message], int] = dict.fromkeys(GUARANTEED_MESSAGES, 0)
"""Which of a broker's services a message is for, by its place in the broker."""

LOG_MESSAGES: tuple[type[Message], ...] = (guaranteed.LogEntry,)


def connection_decoder() -> Decoder[Message]:
    """Reads whatever may arrive on a connection."""
    return Decoder(OVERLAY_MESSAGES + GUARANTEED_MESSAGES)


def log_decoder() -> Decoder[Message]:
    """Reads what a broker wrote to its logs."""
    return Decoder(LOG_MESSAGES)
