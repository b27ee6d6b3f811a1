"""Sends to a queue on another broker, over links that break."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Effect, Send
from penstock.overlay.node import node_config
from penstock.papers.store_and_forward.workload import RatedConsumer, RatedProducer
from penstock.services.queues.messages import (
    Deliver,
    OpenSender,
    RelayedReply,
    SenderOpened,
    SendReceipt,
    SendToQueue,
)
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.relays import RelayedSends
from penstock.services.queues.routing import SendToBroker
from penstock.sim.link import LinkModel
from penstock.sim.world import EPOCH, SimWorld

TOTAL = 3000


def numbered(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": first + each}, b"x" * 100) for each in range(count)])


@pytest.mark.parametrize("seed", range(5))
def test_broken_links_on_the_way_lose_and_double_nothing(seed: int) -> None:
    world = SimWorld(seed, checked=True)
    world.add_broker(node_config("home", {"middle": 1}))
    world.add_broker(node_config("middle", {"home": 1, "far": 1}))
    world.add_broker(node_config("far", {"middle": 1}, queues=(QueueConfig("work"),)))
    links = (("home", "middle"), ("middle", "far"))
    for one, other in links:
        world.add_link(one, other, LinkModel(latency_ns=5 * MILLISECOND))
    seen: Counter[int] = Counter()

    def done(delivery: Deliver) -> None:
        seen.update(int(each["n"]) for each in delivery.frame.batch.attribute_rows())

    worker = RatedConsumer("worker", "work", lambda now: 5000.0, prefetch=100, on_done=done)
    world.add_client("worker", worker, "far")
    producer = RatedProducer(
        "direct",
        "work@far",
        numbered,
        Random(1),
        rate_msgs_per_s=1000,
        run=10,
        total=TOTAL,
        start_at=EPOCH + 3 * SECOND,
        jitter_ns=0,
    )
    world.add_client("direct", producer, "home")
    world.start()
    world.run_for(3 * SECOND)
    random = Random(f"cuts/{seed}")
    for _ in range(6):
        world.run_for(random.randrange(600 * MILLISECOND))
        one, other = random.choice(links)
        world.cut(one, other)
        world.run_for(random.randrange(500 * MILLISECOND))
        world.mend(one, other)
    world.run_for(30 * SECOND)
    assert producer.confirmed == TOTAL, f"seed {seed}"
    assert seen == Counter(range(TOTAL)), f"seed {seed}"


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
