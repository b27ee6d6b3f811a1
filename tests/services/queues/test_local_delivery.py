"""Messages between the queues of one broker."""

from __future__ import annotations

from penstock.core.machine import Send, TrimLog
from penstock.services.queues.local_delivery import LocalDelivery
from penstock.services.queues.messages import Decision, Remembered, Resolved
from penstock.services.queues.routing import Routes, SendToBroker, SendWithinBroker

HERE = Decision("home", "home", "orders", "work", ((1, 2),), ())
THERE = Decision("home", "east", "orders", "work", ((1, 2),), ())
NOWHERE = Decision("home", "far", "orders", "work", ((1, 2),), ())
TRIM = TrimLog("queue/work", 5)


class Receiver:
    """Answers the messages that it is told to answer."""

    def __init__(self, answers):
        self.answers, self.received = answers, []

    def deliver(self, message, now, out):
        self.received.append(message)
        out.extend(self.answers.get(type(message), ()))


def delivery_of(answers=None):
    routes = Routes("home")
    routes.replace({"east": "east"})
    receiver = Receiver(answers or {})
    return LocalDelivery(routes, receiver), receiver


def test_effects_for_the_driver_are_returned_as_they_are():
    delivery, _ = delivery_of()
    effects = [TRIM, Send("client", HERE)]
    assert delivery.carry_out(effects, 0) is effects


def test_a_message_for_another_broker_takes_its_link_or_is_dropped():
    delivery, receiver = delivery_of()
    out = delivery.carry_out([SendToBroker(THERE), SendToBroker(NOWHERE), TRIM], 0)
    assert [getattr(each, "link", "") for each in out] == ["east", ""]
    assert receiver.received == []


def test_a_message_for_this_broker_is_handled_and_its_effects_follow():
    answer = Resolved("home", "home", "orders", "work", ((1, 2),))
    delivery, receiver = delivery_of({Decision: [SendToBroker(answer), TRIM]})
    remembered = Remembered("orders", "work", 9)
    out = delivery.carry_out([SendToBroker(HERE), SendWithinBroker(remembered)], 0)
    assert receiver.received == [HERE, remembered, answer], "in the order of sending"
    assert out == [TRIM]
