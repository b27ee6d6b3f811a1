"""The vocabulary of the wire, from the messages of the overlay and of every registered service."""

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
"""The audiences of what travels on a connection."""


@cache
def vocabulary(*audiences: type[Message]) -> tuple[type[Message], ...]:
    """The message types of these audiences: those of every broker, then each service's."""
    kinds = [*messages_in(overlay), *messages_in(why)]
    for service in broker_services():
        kinds += service.messages
    return tuple(kind for kind in kinds if issubclass(kind, audiences))


@cache
def service_of_message() -> dict[type[Message], int]:
    """The place among a broker's services of the one that a message is for."""
    return {
        kind: number
        for number, service in enumerate(broker_services())
        for kind in service.messages
    }


def connection_decoder() -> Decoder[Message]:
    """Reads whatever may arrive on a connection."""
    return Decoder(vocabulary(*ON_CONNECTIONS))


def datagram_messages() -> tuple[type[Message], ...]:
    """Whatever may arrive in a datagram at a broker or at one of its clients."""
    return vocabulary(UdpMessage)


def log_decoder() -> Decoder[Message]:
    """Reads what a broker wrote to its logs."""
    return Decoder(vocabulary(LogRecord))
