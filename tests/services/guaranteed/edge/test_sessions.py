"""Subscribing, taking over, ending and deleting subscriptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.machine import CloseSession
from penstock.services.guaranteed.laws.nack_window import CatchUpWindow
from penstock.services.guaranteed.messages import (
    Consumed,
    Nack,
    Subscribed,
    SubscribeRefused,
    SubscriptionUpdate,
    Unsubscribe,
    Unsubscribed,
)

START = 1000
FIRST_BYTES = CatchUpWindow.FIRST_BYTES


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def test_an_impossible_subscription_is_refused_with_the_reason(edge_bench: Any) -> None:
    bench = edge_bench(subscriptions_per_session=1)
    bench.subscribe("bad", "n >")
    bench.subscribe("s")
    bench.subscribe("s")
    bench.subscribe("t")

    reasons = [refusal.reason for refusal in bench.said(SubscribeRefused)]
    assert reasons[0].startswith("selector: ")
    assert "already has a subscription named 's'" in reasons[1]
    assert "already has 1 subscriptions" in reasons[2]


@pytest.mark.parametrize("patterns", [("a",) * 101, ("a" * 257,)])
def test_patterns_of_pubends_are_bounded(edge_bench: Any, patterns: tuple[str, ...]) -> None:
    bench = edge_bench()
    bench.subscribe("s", pubends=patterns)

    (refusal,) = bench.said(SubscribeRefused)
    assert "at most 100 patterns of at most 256 characters" in refusal.reason


def test_ending_a_subscription_unregisters_its_selector_unless_another_has_it(
    edge_bench: Any,
) -> None:
    bench = edge_bench()
    bench.subscribe("s", "even = TRUE")
    bench.subscribe("t", "even = TRUE", session="d")
    bench.said(SubscriptionUpdate)
    bench.client("c", Unsubscribe("s"))
    assert bench.said(SubscriptionUpdate) == []
    assert bench.said(Unsubscribed) == [Unsubscribed("s")]

    bench.edge.session_closed("d", 0, bench.out)
    assert bench.said(SubscriptionUpdate) == [
        SubscriptionUpdate("pb", 2, False, (), ("even = TRUE",))
    ]


def test_a_durable_subscription_that_cannot_be_saved_is_refused(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save("the disk is full")

    (refusal,) = bench.said(SubscribeRefused)
    assert "the disk is full" in refusal.reason
    assert bench.edge.subscriptions() == []


def test_a_durable_subscription_is_taken_over_by_another_connection(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.subscribe("s", session="d", durable=True)

    (close,) = bench.ordered(CloseSession)
    assert close.session == "c"
    assert "taken over" in close.reason
    (subscription,) = bench.edge.subscriptions()
    assert subscription.session == "d"


def test_a_durable_subscription_resumes_at_what_was_consumed(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.claims_saved()
    bench.hear(frame(START, START + 10, 1001, 1005))
    bench.client("c", Consumed("s", {"p": 1002}))
    bench.edge.session_closed("c", 0, bench.out)
    bench.said(Subscribed)
    bench.subscribe("s", session="d", durable=True)
    bench.confirm(START + 10)

    assert bench.said(Subscribed) == [Subscribed("s", {"p": 1002})]
    assert bench.said(Nack)[-1] == Nack("p", ((1002, START + 10),), "TRUE", FIRST_BYTES, joins=True)


def test_a_deletion_that_failed_is_told(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.client("c", Unsubscribe("s", forget=True))
    bench.save("the disk is full")

    (answer,) = bench.said(Unsubscribed)
    assert answer.problem == "it could not be deleted: the disk is full"
