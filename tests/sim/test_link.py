"""A link whose latency, jitter, loss and bandwidth change while messages are under way."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import Priority
from penstock.sim.link import LinkModel, SimLink
from penstock.sim.scheduler import Scheduler


class Path:
    """A link, and what has arrived over it, with the milliseconds."""

    def __init__(self, **model: Any) -> None:
        self.scheduler = Scheduler(0)
        self.arrived: list[tuple[float, int]] = []
        self.link = SimLink(
            "a->b",
            LinkModel(**{"latency_ns": 10 * MILLISECOND, **model}),
            self.scheduler,
            Random(1),
            lambda message: self.arrived.append((self.scheduler.now / MILLISECOND, message)),
        )
        self.link.raise_up()

    def send(self, *messages: int, size: int = 1000, priority: Priority = Priority.DATA) -> None:
        for message in messages:
            self.link.send(message, size, priority)

    def run_until(self, ms: float) -> None:
        self.scheduler.run_until(round(ms * MILLISECOND))


def test_a_new_latency_holds_for_what_is_sent_from_then_on() -> None:
    path = Path()
    path.send(1)
    path.run_until(5)
    path.link.set_path(30 * MILLISECOND, None, None)
    path.send(2)
    path.run_until(100)
    assert path.arrived == [(10, 1), (35, 2)]


def test_a_message_over_a_shorter_path_does_not_overtake_those_under_way() -> None:
    path = Path(latency_ns=50 * MILLISECOND)
    path.send(1)
    path.run_until(10)
    path.link.set_path(MILLISECOND, None, None)
    path.send(2)
    path.run_until(70)
    path.send(3)
    path.run_until(100)
    assert [message for _, message in path.arrived] == [1, 2, 3]
    assert path.arrived[0] == (50, 1)
    assert path.arrived[1][0] >= 50
    assert path.arrived[2] == (71, 3), "the shorter path is used as soon as nothing is in the way"


def test_what_waits_in_the_queue_takes_the_new_path() -> None:
    path = Path(bandwidth_bytes_per_s=100_000)
    path.send(1, 2, 3)
    path.run_until(5)
    path.link.set_path(40 * MILLISECOND, None, None)
    path.run_until(200)
    assert path.arrived == [(20, 1), (60, 2), (70, 3)]


def test_what_is_transmitted_at_a_change_arrives_first() -> None:
    path = Path(bandwidth_bytes_per_s=100_000, latency_ns=50 * MILLISECOND)
    path.send(1, 2)
    path.run_until(5)
    path.link.set_path(0, None, None)
    path.run_until(200)
    assert [message for _, message in path.arrived] == [1, 2]
    assert path.arrived[0] == (60, 1)


def test_a_new_loss_holds_for_data_only_and_can_end() -> None:
    path = Path()
    path.link.set_path(None, None, 0.999_999)
    path.send(*range(50))
    path.send(100, priority=Priority.CONTROL)
    path.run_until(50)
    assert path.arrived == [(10, 100)]
    assert path.link.lost_messages == 50
    path.link.set_path(None, None, 0.0)
    path.send(101)
    path.run_until(100)
    assert path.arrived[1:] == [(60, 101)]


def test_a_new_jitter_delays_and_keeps_the_order() -> None:
    path = Path()
    path.link.set_path(None, 20 * MILLISECOND, None)
    for message in range(20):
        path.send(message)
        path.run_until(message + 1)
    path.run_until(100)
    assert [message for _, message in path.arrived] == list(range(20))
    delays = [at - message for at, message in path.arrived]
    assert min(delays) >= 10
    assert max(delays) > 15


def test_values_that_are_not_given_stay() -> None:
    path = Path(jitter_ns=3, loss=0.25)
    path.link.set_path(None, None, None)
    assert path.link.model == LinkModel(latency_ns=10 * MILLISECOND, jitter_ns=3, loss=0.25)
    path.link.set_path(7, None, 0.5)
    assert path.link.model == LinkModel(latency_ns=7, jitter_ns=3, loss=0.5)


def test_a_new_bandwidth_holds_after_the_current_transmission() -> None:
    path = Path(bandwidth_bytes_per_s=100_000)
    path.send(1, 2, 3)
    path.link.set_bandwidth(1_000_000)
    path.run_until(100)
    assert path.arrived == [(20, 1), (21, 2), (22, 3)]
    path.link.set_bandwidth(0)
    path.send(4, 5)
    path.run_until(200)
    assert path.arrived[3:] == [(110, 4), (110, 5)]


def test_a_failure_loses_what_is_under_way_on_the_old_path() -> None:
    path = Path(latency_ns=50 * MILLISECOND)
    path.send(1)
    path.link.set_path(MILLISECOND, None, None)
    path.link.fail()
    path.link.raise_up()
    path.send(2)
    path.run_until(100)
    assert [message for _, message in path.arrived] == [2]


CHANGE = st.tuples(st.integers(0, 60), st.integers(0, 10), st.sampled_from([0, 20_000, 1_000_000]))


@given(st.lists(st.integers(0, 15) | CHANGE, max_size=30))
@pytest.mark.parametrize("jitter_ns", [0, 5 * MILLISECOND])
def test_nothing_overtakes_and_nothing_is_lost_whatever_changes(
    jitter_ns: int, steps: list[int | tuple[int, int, int]]
) -> None:
    path = Path(jitter_ns=jitter_ns)
    sent = 0
    for step in steps:
        if isinstance(step, tuple):
            latency_ms, jitter_ms, bandwidth = step
            path.link.set_path(latency_ms * MILLISECOND, jitter_ms * MILLISECOND, None)
            path.link.set_bandwidth(bandwidth)
        else:
            path.send(sent, size=100)
            sent += 1
            path.run_until(path.scheduler.now / MILLISECOND + step)
    path.run_until(path.scheduler.now / MILLISECOND + 10 * SECOND / MILLISECOND)
    assert [message for _, message in path.arrived] == list(range(sent))
