"""Routes, and the effects between queues."""

from __future__ import annotations

from penstock.core.machine import Priority, Send
from penstock.services.queues.messages import (
    Decision,
    OpenSender,
    RelayedReply,
    RelayedSend,
    SenderOpened,
)
from penstock.services.queues.routing import Routes, SendToBroker, priority_of

DECISION = Decision("home", "east", "orders", "work", ((1, 2),), ())


def test_changed_routes_say_what_is_new():
    routes = Routes("home")
    routes.replace({"a": "x", "b": "x", "c": "x"})
    gained, changed = routes.replace({"a": "x", "b": "y", "d": "x"})
    assert (gained, changed) == (["d"], {"b", "d"})


def test_a_message_takes_the_first_link_or_is_dropped():
    routes = Routes("home")
    assert routes.link_effect(SendToBroker(DECISION)) is None
    routes.replace({"east": "middle"})
    effect = SendToBroker(DECISION, Priority.DATA, "flow")
    assert routes.link_effect(effect) == Send("middle", DECISION, Priority.DATA, "flow")


def test_this_broker_can_always_be_reached():
    routes = Routes("home")
    assert routes.is_reachable("home")
    assert not routes.is_reachable("east")


def test_rows_that_are_passed_on_are_data_and_answers_are_control():
    send = RelayedSend("home", "east", "s", OpenSender("p", "work@east"))
    reply = RelayedReply("east", "home", "s", SenderOpened("p", "work@east", 0))
    assert priority_of(send) == Priority.DATA
    assert priority_of(reply) == priority_of(DECISION) == Priority.CONTROL
