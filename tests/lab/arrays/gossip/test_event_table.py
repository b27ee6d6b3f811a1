"""The table of all peers' buffers."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lab.arrays.gossip.event_table import EventTable


def test_a_table_purges_the_oldest_of_each_row() -> None:
    table = EventTable(2, 6, 2)
    table.publish(np.array([0]), 0)
    for _ in range(2):
        table.grow_older(np.array([0]), 30)
        table.publish(np.array([0]), 0)
    rows, dropped, ages = table.purge(np.array([0, 1]))
    assert (rows.tolist(), dropped.tolist(), ages.tolist()) == ([0], [1], [2])
    assert table.held.tolist() == [2, 0]


def test_a_copy_of_a_dropped_event_is_not_stored_again() -> None:
    table = EventTable(2, 6, 1)
    table.publish(np.array([0]), 0)
    sent = table.grow_older(np.array([0]), 30)
    receiver, sender = np.array([1]), np.array([0])
    assert [each.tolist() for each in table.merge(receiver, sent, sender)] == [[1], [1]]
    table.ages[1] = 0
    assert [each.tolist() for each in table.merge(receiver, sent, sender)] == [[1], [0]]
    assert not table.ages[1].any()


def test_an_event_that_nobody_holds_is_retired_with_its_receivers() -> None:
    table = EventTable(3, 6, 2)
    table.publish(np.array([2]), 0, now=70)
    sent = table.grow_older(np.array([2]), 30)
    table.merge(np.array([1]), sent, np.array([0]))
    assert len(table.retire(0).receivers) == 0, "two peers hold it"
    unfinished = table.unfinished()
    assert (unfinished.publishers.tolist(), unfinished.receivers.tolist()) == ([2], [2])
    table.ages[:] = 0
    spread = table.retire(0)
    assert (spread.publishers.tolist(), spread.published_at.tolist()) == ([2], [70])
    assert spread.receivers.tolist() == [2]
    assert len(table.unfinished().receivers) == 0


def test_the_error_of_a_full_table_names_the_remedy() -> None:
    table = EventTable(3, 2, 5)
    with pytest.raises(OverflowError, match="wider"):
        table.publish(np.array([0, 1, 2]), 0)
