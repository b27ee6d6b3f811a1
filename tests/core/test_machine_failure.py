from __future__ import annotations

import pytest

from penstock.core.datagrams import ReceivedTogether
from penstock.core.machine import (
    DeadlineReached,
    Fact,
    LinkDown,
    Persisted,
    Received,
    SessionClosed,
)
from penstock.core.machine_failure import MachineFailed, named, sender_of


@pytest.mark.parametrize(
    ("fact", "name", "sender"),
    [
        (None, "its timers", ""),
        (DeadlineReached(), "DeadlineReached", ""),
        (Persisted(7), "Persisted", ""),
        (LinkDown("b2"), "LinkDown", "b2"),
        (SessionClosed("client/1"), "SessionClosed", "client/1"),
        (Received("b2", "a text"), "Received(str)", "b2"),
        (ReceivedTogether("b2", ()), "ReceivedTogether", "b2"),
    ],
)
def test_a_fact_is_described_by_its_type_and_its_sender(
    fact: Fact | None, name: str, sender: str
) -> None:
    assert named(fact) == name
    assert sender_of(fact) == sender


def test_the_error_names_the_broker_the_fact_the_sender_and_the_cause() -> None:
    cause = IndexError("out of range")
    failure = MachineFailed("b1", Received("b2", "a text"), cause, "client 'c' at 10.0.0.1")

    assert str(failure) == (
        "broker 'b1' failed while it handled Received(str) from client 'c' at 10.0.0.1: "
        "IndexError: out of range"
    )
    assert failure.__cause__ is cause
    assert failure.link == "b2"


def test_without_a_description_the_link_is_the_sender_and_timers_have_none() -> None:
    cause = IndexError("out of range")

    assert "handled LinkDown from b2: " in str(MachineFailed("b1", LinkDown("b2"), cause))
    assert "handled its timers: IndexError" in str(MachineFailed("b1", None, cause))
