"""The vocabulary of the wire is whole: every message has one audience, a reader and a service."""

from __future__ import annotations

import sys

import pytest

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import encode
from penstock.core.message import (
    AUDIENCES,
    Answer,
    ClientReply,
    LogRecord,
    Message,
    Request,
    messages_in,
)
from penstock.overlay import messages as overlay
from penstock.overlay.wire import (
    ON_CONNECTIONS,
    connection_decoder,
    datagram_messages,
    log_decoder,
    service_of_message,
    vocabulary,
)
from penstock.services.registry import broker_services, descriptions

EVERY = [*messages_in(overlay), *(kind for each in descriptions() for kind in each.messages)]


@pytest.mark.parametrize("kind", EVERY)
def test_every_message_has_one_audience(kind: type[Message]) -> None:
    assert [issubclass(kind, each) for each in AUDIENCES].count(True) == 1


def test_no_name_of_a_message_stands_twice_where_they_are_read() -> None:
    for kinds in (vocabulary(*ON_CONNECTIONS), datagram_messages(), vocabulary(LogRecord)):
        assert len({kind.__name__ for kind in kinds}) == len(kinds)


def test_every_message_but_those_of_the_overlay_belongs_to_a_service() -> None:
    services = {kind for each in broker_services() for kind in each.messages}
    assert set(service_of_message()) == services
    assert not services & set(messages_in(overlay))


@pytest.mark.parametrize("kind", vocabulary(ClientReply))
def test_every_reply_names_its_addressee(kind: type[ClientReply]) -> None:
    assert kind.role
    if kind.named_by:
        assert kind.named_by in kind.__struct_fields__


@pytest.mark.parametrize("kind", vocabulary(Request))
def test_every_request_names_an_answer_that_can_refuse_it(kind: type[Request]) -> None:
    answer = getattr(sys.modules[kind.__module__], kind.answer)
    assert issubclass(answer, Answer)
    assert answer in vocabulary(Answer)
    refusal = answer(request=7, problem="why not")
    assert (refusal.request, refusal.problem, refusal.uncertain) == (7, "why not", False)


def test_what_stands_in_a_log_is_not_accepted_from_a_connection() -> None:
    assert not set(vocabulary(LogRecord)) & set(vocabulary(*ON_CONNECTIONS))


def test_a_connection_does_not_read_a_log_and_a_log_no_connection() -> None:
    heartbeat = b"".join(encode(overlay.Heartbeat()))

    assert connection_decoder().decode(heartbeat) == overlay.Heartbeat()
    with pytest.raises(MalformedMessage):
        log_decoder().decode(heartbeat)
