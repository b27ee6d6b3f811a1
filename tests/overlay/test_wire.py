"""The vocabulary of the wire is whole: every message has a reader and, where due, a service."""

from __future__ import annotations

from types import ModuleType

import pytest

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import encode
from penstock.core.message import Message
from penstock.overlay import messages as overlay
from penstock.overlay.wire import (
    DATAGRAM_MESSAGES,
    GUARANTEED_MESSAGES,
    LOG_MESSAGES,
    MULTICAST_MESSAGES,
    OVERLAY_MESSAGES,
    QUEUES_MESSAGES,
    SERVICE_OF_MESSAGE,
    connection_decoder,
    log_decoder,
)
from penstock.services.datagram import messages as datagram
from penstock.services.datagram.messages import DATAGRAMS
from penstock.services.guaranteed import messages as guaranteed
from penstock.services.multicast import messages as multicast
from penstock.services.queues import messages as queues

INSIDE = {
    queues.Routed,
    queues.DeadLetter,
    queues.LetterBuried,
    queues.HandOver,
    queues.HandedOver,
    queues.Remembered,
}
"""The base of others, and what one queue of a broker says to another."""

SPOKEN = (
    *OVERLAY_MESSAGES,
    *GUARANTEED_MESSAGES,
    *QUEUES_MESSAGES,
    *MULTICAST_MESSAGES,
    *DATAGRAM_MESSAGES,
    *DATAGRAMS,
)


def defined_in(module: ModuleType) -> set[type[Message]]:
    return {
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Message)
        and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("module", [overlay, guaranteed, queues, multicast, datagram])
def test_every_message_that_is_defined_can_be_read(module: ModuleType) -> None:
    assert defined_in(module) <= {*SPOKEN, *LOG_MESSAGES, *INSIDE}


def test_no_message_stands_twice() -> None:
    assert len(set(SPOKEN)) == len(SPOKEN)


def test_every_message_but_those_of_the_overlay_belongs_to_a_service() -> None:
    services = (
        GUARANTEED_MESSAGES,
        QUEUES_MESSAGES,
        MULTICAST_MESSAGES,
        DATAGRAM_MESSAGES,
        DATAGRAMS,
    )
    assert set(SERVICE_OF_MESSAGE) == {each for messages in services for each in messages}


def test_what_stands_in_a_log_is_not_accepted_from_a_connection() -> None:
    assert not set(LOG_MESSAGES) & set(SPOKEN)


def test_a_connection_does_not_read_a_log_and_a_log_no_connection() -> None:
    heartbeat = b"".join(encode(overlay.Heartbeat()))

    assert connection_decoder().decode(heartbeat) == overlay.Heartbeat()
    with pytest.raises(MalformedMessage):
        log_decoder().decode(heartbeat)
