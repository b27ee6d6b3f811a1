"""What an edge claims of the logs, and when it releases a claim."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import PersistState
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    Consumed,
    CursorMoved,
    DurableClaim,
    MoveCursor,
    Unsubscribe,
    Unsubscribed,
)

START = 1000
HOLDER = "durable subscription 's'"


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def test_an_edge_acknowledges_how_far_its_live_stream_has_come(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001))
    bench.deadline(SECOND)

    (statement,) = bench.said(Acknowledgement)
    assert (statement.live, statement.durable) == ({"p": START + 10}, {})


def test_the_claim_of_a_durable_subscription_follows_what_was_saved(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.claims_saved()
    bench.hear(frame(START, START + 10, 1001, 1005))
    bench.client("c", Consumed("s", {"p": 1002}))
    bench.deadline(SECOND // 2)
    bench.deadline(SECOND)
    assert bench.claims() == [{"p": DurableClaim(START, HOLDER)}]

    bench.save()
    bench.deadline(2 * SECOND)
    assert bench.claims() == [{"p": DurableClaim(1002, HOLDER)}]


def test_a_durable_subscription_claims_while_it_has_no_reader(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    bench.deadline(SECOND)

    assert bench.claims() == [{"p": DurableClaim(START, HOLDER)}]


def test_a_subscription_that_is_deleted_without_a_reader_is_released_at_once(
    edge_bench: Any,
) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    bench.client("operator", Unsubscribe("s", forget=True))
    assert bench.said(Unsubscribed) == [], "it is not gone before that is on disk"

    bench.save()
    assert bench.said(Unsubscribed) == [Unsubscribed("s")]
    (release,) = bench.said(Acknowledgement)
    assert (release.durable, release.confirm) == ({}, True)


def test_the_position_of_a_subscriber_that_lost_its_connection_is_claimed_for_a_while(
    edge_bench: Any,
) -> None:
    bench = edge_bench(hold_expiry_ns=10 * SECOND)
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001))
    bench.edge.session_closed("c", SECOND, bench.out)
    bench.deadline(2 * SECOND)
    (statement,) = bench.said(Acknowledgement)
    assert (statement.live, statement.durable) == ({"p": START + 10}, {})

    bench.deadline(12 * SECOND)
    (release,) = bench.said(Acknowledgement)
    assert (release.live, release.confirm) == ({}, True)


def test_a_subscriber_that_unsubscribes_claims_nothing_afterwards(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.client("c", Unsubscribe("s"))
    bench.deadline(SECOND)

    (release,) = bench.said(Acknowledgement)
    assert (release.live, release.durable) == ({}, {})


def test_a_release_is_repeated_until_the_source_confirms_it(edge_bench: Any) -> None:
    bench = edge_bench.durable()
    bench.save()
    bench.claims_saved()
    bench.edge.session_closed("c", 0, bench.out)
    bench.client("operator", Unsubscribe("s", forget=True))
    bench.save()
    bench.said(Acknowledgement)
    bench.deadline(SECOND)
    bench.claims_saved()
    bench.deadline(2 * SECOND)

    assert bench.said(Acknowledgement) == []


def test_deleting_a_cursor_sends_the_confirmations_that_wait_for_its_claim(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.client("job", MoveCursor("c", {"p": 5}))
    (order,) = bench.ordered(PersistState)
    bench.edge.cursor_resolved(order.token, None, 0, bench.out)
    assert bench.said(CursorMoved) == [], "the source has not saved the claim"
    bench.client("job", MoveCursor("c", {}, forget=True))
    (order,) = bench.ordered(PersistState)
    bench.edge.cursor_resolved(order.token, None, 0, bench.out)

    assert bench.said(CursorMoved) == [CursorMoved("c", {"p": 5}), CursorMoved("c", {})]
    bench.claims_saved()
    assert bench.said(CursorMoved) == []
