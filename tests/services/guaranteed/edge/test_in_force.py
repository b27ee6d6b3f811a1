"""When a subscription is announced to its client."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.machine import PersistState
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.laws.nack_window import CatchUpWindow
from penstock.services.guaranteed.messages import (
    Nack,
    Subscribed,
    SubscriptionUpdate,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters

START = 1000
FIRST_BYTES = CatchUpWindow.FIRST_BYTES


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def test_a_subscription_is_announced_when_the_source_has_confirmed_it(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s", "even = TRUE")
    assert bench.said(Subscribed) == []
    assert bench.said(SubscriptionUpdate) == [SubscriptionUpdate("pb", 1, True, ("even = TRUE",))]
    bench.version = 1
    bench.confirm(START)

    assert bench.said(Subscribed) == [Subscribed("s", {"p": START})]


def test_a_subscription_is_not_announced_before_the_overlay_is_known(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.edge = Edge("sb", GuaranteedParameters(), Tokens(), {}, 0)
    bench.subscribe("s")
    assert bench.said(Subscribed) == []

    bench.edge.overlay_settled(0, bench.out)
    assert bench.said(Subscribed) == [Subscribed("s", {})]


def test_a_second_subscriber_with_the_same_selector_is_announced_at_once(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.said(Subscribed)
    bench.subscribe("t", session="d")

    assert bench.said(SubscriptionUpdate) == []
    assert bench.said(Subscribed) == [Subscribed("t", {"p": START})]


def test_a_durable_subscription_is_announced_when_it_is_saved(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    assert bench.said(Subscribed) == []

    bench.save()
    assert bench.said(Subscribed) == []
    bench.claims_saved()
    assert bench.said(Subscribed) == [Subscribed("s", {"p": START})]


def test_where_a_durable_subscription_starts_is_saved_before_it_is_announced(
    edge_bench: Any,
) -> None:
    bench = edge_bench()
    bench.subscribe("s", durable=True)
    bench.save()
    bench.confirm()
    assert bench.said(Subscribed) == []

    bench.edge.deadline(0, bench.out)
    (order,) = bench.ordered(PersistState)
    bench.edge.resolved(order.token, None, 0, bench.out)
    bench.claims_saved()
    assert bench.said(Subscribed) == [Subscribed("s", {"p": START})]
    restarted = edge_bench(saved=order.values)
    restarted.subscribe("s", durable=True)
    restarted.confirm(START + 500)
    assert restarted.said(Nack) == [
        Nack("p", ((START, START + 500),), "TRUE", FIRST_BYTES, joins=True)
    ]


def test_a_subscription_is_announced_with_where_it_began_whatever_was_delivered_since(
    edge_bench: Any,
) -> None:
    """Deliveries wait for the window, or overtake the announcement: neither may move it."""
    bench = edge_bench()
    bench.subscribe("s", start="earliest", window_bytes=1, durable=True)
    bench.confirm(START, earliest=900)
    bench.hear(frame(900, 950, 910), "TRUE", more=True)
    bench.hear(frame(950, START, 960), "TRUE")
    bench.save()
    bench.claims_saved()

    assert bench.said(Subscribed) == [Subscribed("s", {"p": 900})]
