"""The requests of several streams: what is due, and what is forgotten."""

from __future__ import annotations

from penstock.core.machine import Effect, Priority, Send
from penstock.services.guaranteed.edge.requests import EdgeRequests
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.laws.nack_window import CatchUpWindow
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import Nack
from penstock.services.guaranteed.parameters import GuaranteedParameters

PARAMETERS = GuaranteedParameters(nack_timeout_initial_ns=100)


def stream(highest: int) -> EdgeStream:
    made = EdgeStream("p", "TRUE", 0, CatchUpWindow(500), PARAMETERS, receive_window=10**9)
    made.highest = highest
    return made


def test_missing_ticks_are_requested_from_the_relay() -> None:
    requests, out = EdgeRequests(), list[Effect]()
    requests.ask(stream(10), 0, out)

    assert out == [Send(LOCAL_RELAY, Nack("p", ((0, 10),), "TRUE", 500), Priority.CONTROL)]
    assert requests.next_deadline() == 100


def test_a_request_is_repeated_when_it_is_overdue() -> None:
    requests, out = EdgeRequests(), list[Effect]()
    requests.ask(stream(10), 0, out)
    requests.repeat_due(99, out)
    assert len(out) == 1

    requests.repeat_due(100, out)
    assert len(out) == 2


def test_a_stream_without_missing_ticks_has_no_deadline() -> None:
    requests, out = EdgeRequests(), list[Effect]()
    requests.ask(stream(0), 0, out)

    assert out == []
    assert requests.next_deadline() is None


def test_a_stream_that_has_ended_is_not_repeated() -> None:
    requests, ended = EdgeRequests(), stream(10)
    requests.ask(ended, 0, [])
    requests.forget(ended)

    assert requests.next_deadline() is None
    assert requests.pop_due(10**9) == []
