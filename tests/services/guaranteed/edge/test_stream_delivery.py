"""Which subscriber gets which rows, and from which tick on."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.trees import Tree
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    Acknowledgement,
    Delivery,
    DurableClaim,
    Nack,
    SubscriptionConfirmed,
    SubscriptionUpdate,
)

START = 1000
HOLDER = "durable subscription 's'"


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def test_each_subscriber_gets_the_rows_that_match_in_order(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("all")
    bench.subscribe("even", "even = TRUE")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001, 1002))
    bench.hear(frame(START + 10, START + 20, 1013, 1014))

    assert bench.rows("all") == [1001, 1002, 1013, 1014]
    assert bench.rows("even") == [1002, 1014]


def test_lost_ticks_are_delivered_to_every_live_subscriber(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s", "even = TRUE")
    bench.confirm()
    bench.hear(Frame(START, START + 10, final=True), LIVE_FILTER)

    (delivery,) = bench.said(Delivery)
    assert delivery.frame == Frame(START, START + 10, final=True)


def test_a_start_by_time_or_by_position(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("time", start="time", start_time=950)
    bench.subscribe("position", "even = TRUE", positions={"p": 970})
    bench.confirm(START, earliest=900)

    asked = {(nack.filter, nack.intervals) for nack in bench.said(Nack)}
    assert asked == {("TRUE", ((950, START),)), ("even = TRUE", ((970, START),))}


def test_a_position_below_the_log_is_delivered_as_lost(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s", positions={"p": 100})
    bench.confirm(START, earliest=900)

    (delivery,) = bench.said(Delivery)
    assert delivery.frame == Frame(100, 900, final=True)


def test_what_a_new_pubend_has_trimmed_already_is_delivered_as_lost(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s", since=100)
    (update,) = bench.said(SubscriptionUpdate)
    word = SubscriptionConfirmed("pb", update.version, {"p": START}, {"p": 700}, {"p": 300})
    bench.relay(word)

    (loss,) = bench.said(Delivery)
    assert loss.frame == Frame(300, 700, final=True)


def test_a_pubend_that_appears_while_a_durable_subscription_is_away_is_read_from_its_start(
    edge_bench: Any,
) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    grown = Tree("pb", "pb", "ib", (), 2, ("p", "q"))
    bench.edge.trees_changed({"pb": grown}, bench.out)
    bench.deadline(SECOND)
    (statement,) = bench.said(Acknowledgement)
    assert statement.durable["q"] == DurableClaim(0, HOLDER)

    bench.subscribe("s", session="d", durable=True)
    (update,) = bench.said(SubscriptionUpdate)[-1:]
    ticks = {"p": START, "q": 5 * SECOND}
    word = SubscriptionConfirmed("pb", update.version, ticks, {"q": 400}, {"q": 400})
    bench.relay(word)
    (asked,) = [nack for nack in bench.said(Nack) if nack.pubend == "q"]
    assert asked.intervals[0][0] == 400
