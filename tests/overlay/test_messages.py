"""What brokers say of the overlay survives the wire."""

from __future__ import annotations

import pytest

from penstock.content.codec.stream import encode
from penstock.core.message import Message
from penstock.overlay import messages as m
from penstock.overlay.wire import OVERLAY_MESSAGES, connection_decoder

SPECIMENS: list[Message] = [
    m.LinkState("a", 1, 2, {"b": 3}, ("p", "q")),
    m.Hello("broker", "a", 1, "penstock 1"),
    m.Goodbye("reason"),
    m.Heartbeat(),
    m.StatusRequest(),
    m.Status(b"{}"),
    m.LinkControl("b", 60_000, True),
    m.LinkControlled("b", "problem"),
]


def test_there_is_a_specimen_of_every_message() -> None:
    assert {type(specimen) for specimen in SPECIMENS} == set(OVERLAY_MESSAGES)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: type(specimen).__name__)
def test_a_message_arrives_as_it_was_sent(specimen: Message) -> None:
    assert connection_decoder().decode(b"".join(encode(specimen))) == specimen
