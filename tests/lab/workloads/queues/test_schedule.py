"""When a producer's batches are due."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.core.clock import MILLISECOND
from penstock.lab.workloads.queues.schedule import Schedule


@pytest.fixture
def due(make_scenario: Any, make_stage: Any) -> Any:
    """The seconds and sizes of all batches of a producer with these keys."""

    def batches(
        start_s: float = 0.0, stop_s: float = 100.0, **keys: Any
    ) -> list[tuple[float, int]]:
        keys["start_s"] = start_s
        changed = {f"clients.p.{key}": value for key, value in keys.items()}
        scenario = make_scenario(changed)
        stage = make_stage(scenario, start_s, stop_s)
        schedule = Schedule(scenario.clients[0], stage, Random(1))
        found = []
        while schedule.due_at is not None:
            assert schedule.is_due(schedule.due_at)
            assert not schedule.is_due(schedule.due_at - 1)
            assert schedule.deadline == schedule.due_at
            found.append((stage.second(schedule.due_at), schedule.rows))
            schedule.advance()
        assert not schedule.is_due(stage.stop_at)
        return found

    return batches


def test_a_batch_is_due_with_its_last_message(due: Any) -> None:
    assert due(1.0, 1.2, rate_msgs_per_s=100, batch_rows=5) == [
        (1.05, 5),
        (1.1, 5),
        (1.15, 5),
        (1.2, 5),
    ]


def test_the_last_batch_has_what_is_left(due: Any) -> None:
    assert due(rate_msgs_per_s=10, batch_rows=4, messages=10) == [(0.4, 4), (0.8, 4), (1.0, 2)]


def test_long_productions_end_exactly(due: Any) -> None:
    batches = due(3.0, 503.0, rate_msgs_per_s=2000, batch_rows=100)
    assert len(batches) == 10_000
    assert batches[-1] == (503.0, 100)


def test_a_producer_that_starts_late_sends_as_much(make_scenario: Any, make_stage: Any) -> None:
    scenario = make_scenario({"clients.p.start_s": 1, "clients.p.batch_rows": 1})
    schedule = Schedule(scenario.clients[0], make_stage(scenario, 1.5, 4.0), Random(1))
    sent = 0
    while schedule.due_at is not None:
        sent += schedule.rows
        schedule.advance()
    assert sent == 600


def test_jitter_makes_late_and_never_early(due: Any) -> None:
    plain = due(rate_msgs_per_s=10, messages=100, batch_rows=1)
    late = due(rate_msgs_per_s=10, messages=100, batch_rows=1, jitter_ms=20)
    delays = [one[0] - other[0] for one, other in zip(late, plain, strict=True)]
    assert all(0 <= each < 0.02 for each in delays)
    assert len(set(delays)) > 50


def test_a_rate_that_ends_sends_no_more(due: Any) -> None:
    batches = due(rate_msgs_per_s=[[0, 0], [1, 0], [2, 10], [3, 0]], batch_rows=1)
    assert len(batches) == 10
    assert 1 < batches[0][0] < batches[-1][0] <= 3


def test_as_fast_as_possible_is_always_due_until_the_end(
    make_scenario: Any, make_stage: Any
) -> None:
    changed = {"clients.p.rate_msgs_per_s": 0, "clients.p.max_in_flight": 50}
    scenario = make_scenario(changed)
    stage = make_stage(scenario, 1.0, 2.0)
    schedule = Schedule(scenario.clients[0], stage, Random(1))
    assert schedule.deadline is None, "only the broker's answers make room"
    for at in (stage.now, stage.stop_at - MILLISECOND):
        assert schedule.is_due(at)
        schedule.advance()
    assert not schedule.is_due(stage.stop_at)
