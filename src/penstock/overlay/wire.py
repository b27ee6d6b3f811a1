"""The message types of the wire: those of the overlay and of every registered service."""

from __future__ import annotations

from functools import cache

from penstock.content.codec.stream import Decoder
from penstock.core import why
from penstock.core.message import (
    BrokerMessage,
    ClientReply,
    ClientRequest,
    ConnectionMessage,
    LogRecord,
    Message,
    UdpMessage,
    messages_in,
)
from penstock.overlay import messages as overlay
from penstock.services.registry import broker_services

ON_CONNECTIONS = (ConnectionMessage, ClientRequest, ClientReply, BrokerMessage)
"""The audiences of the messages that are sent on connections."""


@cache
def vocabulary(*audiences: type[Message]) -> tuple[type[Message], ...]:
    """The message types of these audiences: first the overlay's, then each service's."""
    kinds = [*messages_in(overlay), *messages_in(why)]
    for service in broker_services():
        kinds += service.messages
    return tuple(kind for kind in kinds if issubclass(kind, audiences))


@cache
def service_of_message() -> dict[type[Message], int]:
    """The index, among a broker's services, of the service that handles each message type."""
    return {
        kind: number
        for number, service in enumerate(broker_services())
        for kind in service.messages
    }


def connection_decoder() -> Decoder[Message]:
    """A decoder for all messages that may arrive on a connection."""
    return Decoder(vocabulary(*ON_CONNECTIONS))


def datagram_messages() -> tuple[type[Message], ...]:
    """The message types that a broker or one of its clients may receive in a datagram."""
    return vocabulary(UdpMessage)


def log_decoder() -> Decoder[Message]:
    """A decoder for the entries of a broker's logs."""
    return Decoder(vocabulary(LogRecord))
