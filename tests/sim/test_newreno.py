"""The TCP model against the known behaviour of NewReno (RFC 5681, 6582, 6298)."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.randomness import random_stream
from penstock.sim.drop_tail_hop import DropTailHop, HopModel
from penstock.sim.newreno import NewRenoFlow, Receiver
from penstock.sim.scheduler import Scheduler


class LossyHop:
    """Loses the packets with these numbers, counted in the order of sending."""

    def __init__(self, scheduler: Scheduler, *lost: int) -> None:
        self.sent = 0
        self._scheduler = scheduler
        self._lost = frozenset(lost)

    def carry(self, size_bytes: int, arrived: Callable[[], None]) -> None:
        self.sent += 1
        if self.sent - 1 not in self._lost:
            self._scheduler.at(self._scheduler.now + 10 * MILLISECOND, arrived)


class RandomLossHop:
    """Loses packets at random; the loss rate determines the throughput."""

    def __init__(self, scheduler: Scheduler, loss: float, seed: int) -> None:
        self._scheduler = scheduler
        self._loss = loss
        self._random = random_stream(seed, "hop")

    def carry(self, size_bytes: int, arrived: Callable[[], None]) -> None:
        if self._random.random() >= self._loss:
            self._scheduler.at(self._scheduler.now + 50 * MILLISECOND, arrived)


def hop(scheduler: Scheduler, bandwidth: int, seed: int = 1, queue: int = 45) -> DropTailHop:
    model = HopModel(bandwidth_bytes_per_s=bandwidth, queue_packets=queue)
    return DropTailHop(model, scheduler, random_stream(seed, "hop"))


def test_a_window_doubles_in_each_round_trip_of_slow_start() -> None:
    scheduler = Scheduler(0)
    flow = NewRenoFlow(scheduler, [LossyHop(scheduler)], [LossyHop(scheduler)])
    flow.start()
    windows = []
    for _ in range(4):
        windows.append(flow.congestion_window)
        scheduler.run_until(scheduler.now + 20 * MILLISECOND)
    assert windows == [2, 4, 8, 16]


def test_a_lost_segment_is_recovered_without_a_timeout() -> None:
    scheduler = Scheduler(0)
    flow = NewRenoFlow(scheduler, [LossyHop(scheduler, 20)], [LossyHop(scheduler)])
    flow.start()
    scheduler.run_until(SECOND)
    assert flow.fast_recoveries == 1
    assert flow.timeouts == 0
    assert flow.receiver.next_segment > 40


def test_several_losses_in_a_window_cost_one_reduction() -> None:
    scheduler = Scheduler(0)
    flow = NewRenoFlow(scheduler, [LossyHop(scheduler, 20, 22, 24)], [LossyHop(scheduler)])
    flow.start()
    scheduler.run_until(SECOND)
    assert flow.fast_recoveries == 1
    assert flow.timeouts == 0


def test_a_lost_window_is_recovered_by_the_timeout() -> None:
    scheduler = Scheduler(0)
    flow = NewRenoFlow(scheduler, [LossyHop(scheduler, 0, 1)], [LossyHop(scheduler)])
    flow.start()
    scheduler.run_until(5 * SECOND)
    assert flow.timeouts == 1
    assert flow.receiver.next_segment > 0


def test_a_bottleneck_is_used_fully() -> None:
    scheduler = Scheduler(0)
    bottleneck = hop(scheduler, 125_000)
    flow = NewRenoFlow(scheduler, [bottleneck], [hop(scheduler, 0)])
    flow.start()
    scheduler.run_until(60 * SECOND)
    assert flow.delivered_bytes / 60 > 0.95 * 125_000
    assert bottleneck.dropped_packets > 0


def test_two_flows_share_a_bottleneck() -> None:
    scheduler = Scheduler(0)
    bottleneck, back = hop(scheduler, 125_000), hop(scheduler, 0)
    access = [
        DropTailHop(HopModel(jitter_ns=4 * MILLISECOND), scheduler, random_stream(each, "access"))
        for each in (1, 2)
    ]
    flows = [NewRenoFlow(scheduler, [each, bottleneck], [back]) for each in access]
    for flow in flows:
        flow.start()
    scheduler.run_until(200 * SECOND)
    shares = [flow.delivered_bytes / (200 * 125_000) for flow in flows]
    assert min(shares) > 0.4
    assert sum(shares) > 0.95


@pytest.mark.parametrize("loss", [0.004, 0.016])
def test_throughput_follows_the_square_root_law(loss: float) -> None:
    scheduler = Scheduler(0)
    flow = NewRenoFlow(scheduler, [RandomLossHop(scheduler, loss, 1)], [LossyHop(scheduler)])
    flow.start()
    scheduler.run_until(200 * SECOND)
    rate = flow.receiver.next_segment / 200
    expected = sqrt(1.5 / loss) / 0.06
    assert 0.6 * expected < rate < 1.3 * expected


def test_a_stopped_flow_sends_nothing() -> None:
    scheduler = Scheduler(0)
    there = LossyHop(scheduler)
    flow = NewRenoFlow(scheduler, [there], [LossyHop(scheduler)])
    flow.start()
    scheduler.run_until(SECOND)
    flow.stop()
    sent = there.sent
    scheduler.run_until(10 * SECOND)
    assert there.sent == sent
    assert scheduler.idle


def test_the_receiver_acknowledges_up_to_the_first_gap() -> None:
    receiver = Receiver()
    assert [receiver.received(each) for each in (0, 2, 3, 1, 1)] == [1, 1, 1, 4, 4]
