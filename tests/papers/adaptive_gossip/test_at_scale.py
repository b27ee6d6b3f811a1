"""The arrays agree with the machines, within noise, at 60 peers on the same seeds."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from penstock.papers.adaptive_gossip.at_scale import run_arrays
from penstock.papers.adaptive_gossip.group import simulate
from penstock.papers.adaptive_gossip.scenario import BufferChange
from penstock.papers.adaptive_gossip.table import EventTable

from penstock.papers.adaptive_gossip.experiments import adaptive, ideal_rate_and_age, plain
from penstock.services.gossip.parameters import Law


@pytest.mark.parametrize("seed", [1, 2])
def test_plain_gossip_agrees_with_arrays(seed: int) -> None:
    scenario = plain(20, 5.3)
    machines, arrays = simulate(scenario, seed), run_arrays(scenario, seed)
    assert arrays.receivers == pytest.approx(machines.receivers, abs=0.015)
    assert arrays.drop_age == pytest.approx(machines.drop_age, rel=0.05)


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_both_laws_settle_at_the_same_rate(law: Law) -> None:
    scenario = msgspec.structs.replace(
        adaptive(law, 20), rounds=110, warm_up_rounds=60, settle_rounds=14
    )
    machines, arrays = simulate(scenario, 1), run_arrays(scenario, 1)
    assert arrays.input_rate_msgs_per_s == pytest.approx(machines.input_rate_msgs_per_s, rel=0.05)
    assert arrays.receivers == pytest.approx(machines.receivers, abs=0.01)


def test_arrays_refuse_unsupported_scenarios() -> None:
    scenario = msgspec.structs.replace(plain(30, 8.0), changes=(BufferChange(1, 0.5, 9),))
    with pytest.raises(ValueError, match="no buffer changes"):
        run_arrays(scenario, 1)


def test_the_ideal_rate_is_interpolated_between_two_runs() -> None:
    slower, faster = (run_arrays(plain(30, factor * 30), 1) for factor in (0.25, 0.285))
    rate, age = ideal_rate_and_age(slower, faster)
    assert rate / 30 == pytest.approx(0.267, abs=0.02), "theory says 0.267 per buffer"
    assert age == pytest.approx(5.3, abs=0.3)


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


def test_the_error_of_a_full_table_names_the_remedy() -> None:
    table = EventTable(3, 2, 5)
    with pytest.raises(OverflowError, match="wider"):
        table.publish(np.array([0, 1, 2]), 0)
