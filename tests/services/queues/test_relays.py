"""Sends to a queue on another broker, over links that break."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import Effect, Send
from penstock.lab.run import run
from penstock.lab.scenario.model import Fault
from penstock.lab.worlds.sim import SimRun
from penstock.services.queues.messages import (
    OpenSender,
    RelayedReply,
    SenderOpened,
    SendReceipt,
    SendToQueue,
)
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.relays import RelayedSends
from penstock.services.queues.routing import SendToBroker

TOTAL = 3000


def numbered(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": first + each}, b"x" * 100) for each in range(count)])


@pytest.mark.parametrize("seed", range(5))
def test_broken_links_on_the_way_lose_and_double_nothing(seed: int, broker_chain: Any) -> None:
    random = Random(f"cuts/{seed}")
    at_s, faults = 3.0, []
    for _ in range(6):
        at_s += random.random() * 0.6
        link = random.choice((("home", "middle"), ("middle", "far")))
        faults.append(Fault(at_s=at_s, cut=link))
        at_s += random.random() * 0.5
        faults.append(Fault(at_s=at_s, mend=link))
    scenario = broker_chain({"direct": "work@far"}, TOTAL, faults)
    result = run(SimRun(scenario, seed, checked=True))
    assert result.judgement.violations == 0, f"seed {seed}: {result.judgement}"
    history = result.histories["queues"]
    counts = {each: len(history.events(each)["direct"].at) for each in ("confirmed", "submitted")}
    assert counts["submitted"] == TOTAL
    assert len(history.events("consumed")["worker"].at) == counts["confirmed"], f"seed {seed}"


def sent(out: list[Effect]) -> list[Any]:
    return [each.message for each in out if isinstance(each, Send | SendToBroker)]


def receipt(relays: RelayedSends, first: int) -> list[Any]:
    out: list[Effect] = []
    reply = SendReceipt("p", "work@far", first, 5, 1)
    relays.replied(RelayedReply("far", "home", "client/1", reply), out)
    return sent(out)


def test_what_is_not_answered_is_sent_again_and_answered_once() -> None:
    relays = RelayedSends("home", QueueParameters())
    out: list[Effect] = []
    message = SendToQueue("p", "work@far", 0, numbered(0, 5))
    assert relays.send("client/1", message, "far", 10 * SECOND, out) == ""
    (first,) = sent(out)
    assert relays.next_deadline() == 15 * SECOND
    for act in (
        lambda out: relays.deadline(15 * SECOND, out),
        lambda out: relays.routes_changed({"far"}, 16 * SECOND, out),
    ):
        again: list[Effect] = []
        act(again)
        assert sent(again) == [first]
    assert receipt(relays, 0) == [SendReceipt("p", "work@far", 0, 5, 1)]
    assert receipt(relays, 0) == []
    assert relays.next_deadline() is None


def test_a_client_that_is_gone_is_forgotten() -> None:
    relays = RelayedSends("home", QueueParameters())
    relays.send("client/1", SendToQueue("p", "work@far", 0, numbered(0, 5)), "far", 0, [])
    relays.session_closed("client/1")
    assert relays.next_deadline() is None
    assert receipt(relays, 0) == []


def test_what_waits_is_bounded() -> None:
    relays = RelayedSends("home", QueueParameters(submit_limit_bytes=1000))
    out: list[Effect] = []
    assert relays.send("c", SendToQueue("p", "work@far", 0, numbered(0, 5)), "far", 0, out) == ""
    problem = relays.send("c", SendToQueue("p", "work@far", 5, numbered(5, 5)), "far", 0, out)
    assert "use an alias queue" in problem
    assert len(out) == 1


def test_a_producer_of_a_queue_elsewhere_is_told_where_it_stands() -> None:
    relays = RelayedSends("home", QueueParameters())
    out: list[Effect] = []
    relays.send("client/1", OpenSender("p", "work@far"), "far", 0, out)
    opened = SenderOpened("p", "work@far", 7)
    relays.replied(RelayedReply("far", "home", "client/1", opened), out)
    assert sent(out)[1:] == [opened]
