"""Senders and their names among the origins of rows."""

from __future__ import annotations

from penstock.services.queues.queue.senders import (
    AliasSender,
    ClientSender,
    HandoverSender,
    LetterSender,
    alias_of_handover,
    alias_of_origin,
)


def test_every_kind_of_sender_has_names_of_its_own():
    origins = [
        ClientSender("s", "x", "q").origin,
        AliasSender("b", "x").origin,
        LetterSender("x", ()).origin,
        HandoverSender("x", 1).origin,
    ]
    assert origins == ["producer/x", "alias/b/x", "queue/x", "handover/x"]


def test_names_are_read_back():
    assert alias_of_origin(AliasSender("b", "x").origin) == ("b", "x")
    assert alias_of_handover(HandoverSender("x", 1).origin) == "x"


def test_a_producer_is_the_same_on_every_connection():
    assert ClientSender("s", "x", "q").origin == ClientSender("t", "x", "q", "far").origin
