from __future__ import annotations

from typing import Any

from penstock.core.machine import Persist
from penstock.services.guaranteed.links import LOCAL_STAGING
from penstock.services.guaranteed.messages import Publish


def test_pubends_are_chosen_by_wish_or_by_sink(staging_parts: Any) -> None:
    gate = staging_parts(("q", "p", "telemetry@b")).gate

    assert gate.choose("s", "q") == "q"
    assert gate.choose("s", "telemetry@b") == ""
    assert gate.choose("s", "") == gate.choose("s", "") != ""
    assert gate.not_hosted("r") == "this broker hosts no pubend 'r' (it hosts: p, q)"
    assert gate.has("p")
    assert not gate.has("r")


def test_without_a_pubend_there_is_no_choice(staging_parts: Any) -> None:
    gate = staging_parts(()).gate

    assert gate.ready
    assert gate.choose("s", "") == ""
    assert gate.not_hosted("") == "this broker hosts no pubend (it hosts: none)"


def test_a_publication_is_answered_to_the_staging(staging_parts: Any) -> None:
    parts = staging_parts()
    parts.gate.publish("p", Publish("sink/s", 0, parts.batch(2)), parts.now, parts.out)
    (order,) = parts.take()
    assert isinstance(order, Persist)
    pubend = parts.hosted.by_name["p"]
    parts.hosted.resolved(pubend, order.token, None, parts.now, parts.out)

    ((session, _),) = parts.said()
    assert session == LOCAL_STAGING
    assert parts.gate.next_sequence("p", "sink/s") == 2
