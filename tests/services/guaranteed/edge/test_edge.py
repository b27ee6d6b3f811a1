"""The edge as a whole: sources, subscriptions and time."""

from __future__ import annotations

from typing import Any

from penstock.core.trees import Tree
from penstock.services.guaranteed.messages import (
    SubscriptionUpdate,
)

TREE = Tree("pb", "pb", "ib", (), 1, ("p",))


def test_a_source_that_turns_up_later_is_registered_with(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.edge.trees_changed(
        {"pb": TREE, "pb2": Tree("pb2", "pb2", "ib", (), 1, ("q",))}, bench.out
    )

    assert bench.said(SubscriptionUpdate) == [SubscriptionUpdate("pb2", 1, True, ("TRUE",))]
