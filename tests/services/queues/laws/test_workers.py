"""The number of workers of a queue follows its load, within bounds and not its noise."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.queues.laws.workers import QueueLoad, WorkerBounds, WorkerPolicy

NOW = 1_700_000_000 * SECOND


class Queue:
    """A queue whose workers settle ``rate`` messages a second each, asked once a second."""

    def __init__(self, bounds: WorkerBounds, rate: float = 100.0) -> None:
        self.policy = WorkerPolicy(bounds)
        self.rate = rate
        self.waiting = 0.0
        self.received = 0
        self.second = 0
        self.worked = False

    def work(self, arrivals: float) -> int:
        """One second; the number of workers after it."""
        self.received += round(arrivals)
        self.waiting += round(arrivals)
        settled = min(self.waiting, self.policy.count * self.rate)
        self.waiting -= settled
        self.worked = self.worked or settled > 0
        self.second += 1
        rate = self.rate if self.worked else None
        load = QueueLoad(round(self.waiting), self.received, rate)
        return self.policy.decide(load, NOW + self.second * SECOND)


def test_a_step_of_load_adds_workers_at_once_and_removes_them_late() -> None:
    queue = Queue(WorkerBounds(1, 8, quiet_s=30))
    assert {queue.work(50) for _ in range(60)} == {1}
    risen = [queue.work(400) for _ in range(60)]
    assert risen[2] == 2, "at most twofold"
    assert risen[-1] >= 5
    assert queue.waiting == 0
    fallen = [queue.work(50) for _ in range(90)]
    assert fallen[25] == risen[-1]
    assert fallen[-1] == 1
    assert fallen == sorted(fallen, reverse=True)


def test_noise_does_not_move_the_number() -> None:
    queue = Queue(WorkerBounds(1, 8))
    random = Random(1)
    counts = [queue.work(200 + random.randint(-60, 60)) for _ in range(300)][60:]
    assert len(set(counts)) == 1


def test_between_two_numbers_it_changes_seldom() -> None:
    """240 messages a second need exactly three workers that are busy for 0.8 of their time."""
    queue = Queue(WorkerBounds(1, 8, quiet_s=30))
    random = Random(1)
    counts = [queue.work(240 + random.randint(-60, 60)) for _ in range(600)][60:]
    fallen = sum(after < before for before, after in pairwise(counts))
    assert set(counts) <= {3, 4}
    assert fallen <= 540 / 30


def test_without_required_workers_an_empty_queue_has_none() -> None:
    queue = Queue(WorkerBounds(0, 4, quiet_s=10))
    assert queue.work(0) == 0
    assert queue.work(3) == 1, "also if the rate of a worker is not known"
    assert [queue.work(0) for _ in range(40)][-1] == 0


def test_a_restarted_broker_counts_anew() -> None:
    queue = Queue(WorkerBounds(1, 8))
    before = [queue.work(150) for _ in range(60)][-1]
    queue.received = 0
    assert queue.work(150) == before


@given(
    st.integers(0, 5),
    st.integers(0, 10),
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e6)), max_size=30
    ),
)
def test_bounds_hold_whatever_the_load_is(
    least: int, more: int, loads: list[tuple[int, int, float]]
) -> None:
    most = max(1, least + more)
    policy = WorkerPolicy(WorkerBounds(least, most))
    for second, load in enumerate(loads):
        before = policy.count
        count = policy.decide(QueueLoad(*load), NOW + second * SECOND)
        assert least <= count <= most
        assert count <= max(2 * before, 1)


def test_bounds_that_allow_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="least=3, most=2"):
        WorkerPolicy(WorkerBounds(3, 2))
    with pytest.raises(ValueError, match="at least one"):
        WorkerPolicy(WorkerBounds(0, 0))


def needed(**load: float) -> int:
    """Workers of 10 messages a second each, once the policy has had time to rise."""
    policy = WorkerPolicy(WorkerBounds(0, 100, start_s=0.5))
    said = QueueLoad(**{"messages": 0, "received": 0, "worker_msgs_per_s": 10.0, **load})
    return [policy.decide(said, NOW + second * SECOND) for second in range(20)][-1]


def test_other_destinations_take_their_part_of_the_work() -> None:
    assert needed(messages=1000) == 10
    assert needed(messages=1000, others_msgs_per_s=70) == 3
    assert needed(messages=1000, others_msgs_per_s=500) == 1, "one while there are messages"


def test_others_cannot_take_what_the_workers_queue_has() -> None:
    assert needed(messages=1000, others_msgs_per_s=500, own_messages=600) == 6
    assert needed(messages=600, own_messages=600) == 6
