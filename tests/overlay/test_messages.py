"""What brokers say of the overlay survives the wire."""

from __future__ import annotations

import pytest

from penstock.content.codec.stream import encode
from penstock.core.message import Message, UdpMessage, messages_in
from penstock.overlay import messages as m
from penstock.overlay import messages as overlay
from penstock.overlay.wire import connection_decoder

SPECIMENS: list[Message] = [
    m.LinkState("a", 1, 2, {"b": 3}, ("p", "q")),
    m.Hello("broker", "a", 1, "penstock 1"),
    m.Goodbye("reason"),
    m.Heartbeat(),
    m.StatusRequest(),
    m.Status(b"{}"),
    m.LinkControl("b", 60_000, True),
    m.LinkControlled("b", problem="problem"),
    m.DatagramSocketRequest(),
    m.DatagramSocketOffer(7400, b"secret"),
    m.DatagramPort(7400),
]


def test_there_is_a_specimen_of_every_message() -> None:
    assert {type(specimen) for specimen in SPECIMENS} == {
        kind for kind in messages_in(overlay) if not issubclass(kind, UdpMessage)
    }


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: type(specimen).__name__)
def test_a_message_arrives_as_it_was_sent(specimen: Message) -> None:
    assert connection_decoder().decode(b"".join(encode(specimen))) == specimen
