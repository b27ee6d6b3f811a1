"""What is measured from the history of arrays."""

from __future__ import annotations

import numpy as np

from penstock.lab.arrays.gossip.event_table import SpreadEvents
from penstock.lab.arrays.gossip.history import NOT_KNOWN, ArrayHistory


def history() -> ArrayHistory:
    """Two publishers among 20 peers; the events reached 20, 19 and 10 of them."""
    made = ArrayHistory(tuple(f"p{number}" for number in range(20)))
    made.spread(SpreadEvents(np.array([3, 1]), np.array([10, 20]), np.array([20, 19])))
    made.spread(SpreadEvents(np.array([3]), np.array([5]), np.array([10])))
    made.delivered_in_round(np.array([2] * 19 + [8], np.uint32), now=50)
    return made


def test_events_are_those_of_their_publishers_in_the_order_of_time() -> None:
    receivers = history().events("receivers")
    assert {name: each.at.tolist() for name, each in receivers.items()} == {
        "p1": [20],
        "p3": [5, 10],
    }
    assert receivers["p3"].values.tolist() == [0.5, 1.0]
    atomic = history().events("atomic")
    assert [atomic["p1"].values.tolist(), atomic["p3"].values.tolist()] == [[1.0], [0.0, 1.0]]
    assert history().events("published")["p3"].values.tolist() == [1.0, 1.0]
    assert list(history().totals()) == [("p1", "published", 1), ("p3", "published", 2)]


def test_deliveries_are_counted_for_each_peer_and_round() -> None:
    delivered = history().events("delivered")
    assert delivered["p19"].values.tolist() == [8.0]
    assert history().delivered == 46


def test_more_deliveries_than_receivers_are_duplicated() -> None:
    made = history()
    assert made.judge().violations == 0, "46 deliveries, and 49 receivers of which 3 published"
    made.delivered_in_round(np.array([1] + [0] * 19, np.uint32), now=60)
    assert made.judge()["duplicated"] == 1


def test_an_empty_history_has_no_events() -> None:
    made = ArrayHistory(("p0",))
    for metric in ("receivers", "atomic", "published", *NOT_KNOWN):
        assert not made.events(metric)
    assert (made.pending, made.complete(), made.judge().violations) == (0, True, 0)
