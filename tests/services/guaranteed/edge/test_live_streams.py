"""The live streams of an edge: requests, repetition, restarted sources, queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import Send
from penstock.core.trees import Tree
from penstock.services.guaranteed.laws.vegas_nack_window import UNIT_BYTES
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    DownstreamCongestionQuery,
    Nack,
    UpstreamCongestionAlert,
)

START = 1000


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def test_a_gap_is_requested_and_blocks_what_lies_behind_it(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START + 10, START + 20, 1015))
    assert bench.rows("s") == []
    assert bench.said(Nack) == [Nack("p", ((START, START + 10),), LIVE_FILTER, UNIT_BYTES, True)]

    bench.hear(frame(START, START + 10, 1005), LIVE_FILTER)
    assert bench.rows("s") == [1005, 1015]


def test_a_request_without_answer_is_repeated(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START + 10, START + 20))
    (nack,) = bench.said(Nack)
    bench.deadline(SECOND)

    assert bench.said(Nack) == [nack]


def test_when_the_way_up_changes_missing_ticks_are_requested_at_once(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START + 10, START + 20))
    (nack,) = bench.said(Nack)
    bench.path_changed()

    assert bench.said(Nack) == [nack]


def test_after_a_restart_of_a_source_everything_up_to_its_end_is_requested(edge_bench: Any) -> None:
    """Its disk may have failed, so that it publishes nothing more: nothing live tells its end."""
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1001))
    bench.edge.trees_changed({"pb": Tree("pb", "pb", "ib", (), 2, ("p",))}, bench.out)
    bench.said(Nack)
    bench.confirm(START + 50)

    assert bench.said(Nack) == [
        Nack("p", ((START + 10, START + 50),), LIVE_FILTER, UNIT_BYTES, True)
    ]


def test_a_confirmation_of_another_selector_repeats_no_request(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.subscribe("t", "even = TRUE", session="d")
    bench.confirm(START + 50)

    assert bench.said(Nack) == []


def test_an_edge_that_lags_answers_a_query_with_an_alert_to_its_relay(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s")
    bench.confirm()
    bench.hear(frame(START, START + 10, 1005))
    position = START + 5 * SECOND
    bench.relay(DownstreamCongestionQuery("p", 1, 9, position))

    (alert,) = bench.said(UpstreamCongestionAlert)
    assert (alert.pubend, alert.sequence) == ("p", 9)
    bench.relay(DownstreamCongestionQuery("unknown", 1, 9, position))
    assert bench.said(UpstreamCongestionAlert) == []
    assert all(e.link == LOCAL_RELAY for e in bench.out if isinstance(e, Send) and e.link[0] == "@")
