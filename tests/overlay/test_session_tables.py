"""Every table that one session can grow refuses what is too much, and serves the next session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import Received, Send, SessionOpened
from penstock.overlay.node import node_config
from penstock.services.guaranteed.messages import MoveCursor, OpenProducer, Subscribe
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.staging.messages import StageRows
from penstock.services.multicast.messages import JoinGroup, OpenGroupSender
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.queues.messages import Receive
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.sim.world import SimWorld

MOST = 3
ROWS = Batch.from_rows([({}, b"x")])

REQUESTS: dict[str, tuple[Callable[[int], Any], str]] = {
    "producers": (lambda number: OpenProducer(f"p{number}"), "producers_per_session"),
    "subscriptions": (lambda number: Subscribe(f"s{number}", ""), "3 subscriptions"),
    "cursors": (lambda number: MoveCursor(f"c{number}", {}), "3 cursors"),
    "stages": (lambda number: StageRows("sink", 1, f"{number}", 0, ROWS), "stage_limit"),
    "consumers": (lambda number: Receive(f"c{number}", "q"), "consumers_per_session"),
    "group senders": (lambda number: OpenGroupSender(f"g{number}"), "max_senders_per_client"),
    "groups": (lambda number: JoinGroup("me", f"g{number}", 1000), "max_groups_per_client"),
}


@pytest.mark.parametrize("table", REQUESTS)
def test_more_than_the_limit_is_refused_with_its_name(table: str) -> None:
    world = SimWorld(1, checked=True)
    world.add_broker(
        node_config(
            "pb",
            pubends=("pb.1",),
            queues=(QueueConfig("q"),),
            guaranteed=GuaranteedParameters(
                producers_per_session=MOST,
                subscriptions_per_session=MOST,
                durable_subscriptions=MOST,
                stage_limit=MOST,
            ),
            queue_parameters=QueueParameters(consumers_per_session=MOST),
            multicast=MulticastParameters(max_senders_per_client=MOST, max_groups_per_client=MOST),
        )
    )
    heard: list[Any] = []
    world._send = lambda name, effect: heard.append(effect)  # type: ignore[method-assign]
    world.start()
    world.run_for(3 * SECOND)
    make, limit = REQUESTS[table]
    world._tell_broker("pb", SessionOpened("client/1"))
    for number in range(MOST + 2):
        world._tell_broker("pb", Received("client/1", make(number)))
        world.run_for(SECOND)

    problems = [
        getattr(effect.message, "problem", "") or getattr(effect.message, "reason", "")
        for effect in heard
        if isinstance(effect, Send) and effect.link == "client/1"
    ]
    refused = [problem for problem in problems if problem]
    assert len(refused) == 2
    assert all(limit in problem for problem in refused)
