"""Both halves of the control with brokers between them, in the simulator."""

from __future__ import annotations

import pytest

from penstock.papers.content_aware.result import DatagramRun
from penstock.papers.content_aware.scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    BandwidthStep,
    DatagramScenario,
    Pair,
    Policy,
    TcpFlow,
)
from penstock.papers.content_aware.simulation import simulate
from penstock.sim.udp_workload import RatePoint


def scenario(
    *pairs: tuple[float, float],
    duration_s: float = 12.0,
    kbps: float = 500.0,
    tcp: TcpFlow | None = None,
    near_subscriber: bool = False,
) -> DatagramScenario:
    """Pairs of (rate, matching part) across a bottleneck; 500 Kbps are 223 messages a second."""
    return DatagramScenario(
        service="datagram",
        name="test",
        duration_s=duration_s,
        pairs=tuple(Pair(part, (RatePoint(0.0, rate),)) for rate, part in pairs),
        bandwidth=(BandwidthStep(0.0, kbps),),
        tcp=tcp,
        near_subscriber=near_subscriber,
    )


def lost_part(run: DatagramRun) -> float:
    return run.missed_messages / (run.missed_messages + run.received_messages)


@pytest.mark.parametrize("policy", [FLOWS, IMPROVED], ids=lambda each: each.law)
def test_control_ends_the_losses_and_keeps_the_link_busy(policy: Policy) -> None:
    overload = scenario((500.0, 1.0), duration_s=8.0)
    free, held = simulate(overload, UNCONTROLLED, 1), simulate(overload, policy, 1)
    assert lost_part(free) > 0.5
    assert lost_part(held) < 0.1
    assert held.received_messages > 0.95 * free.received_messages


@pytest.mark.parametrize("policy", [FLOWS, IMPROVED], ids=lambda each: each.law)
def test_only_the_flow_on_the_congested_path_is_slowed(policy: Policy) -> None:
    disjoint = scenario((600.0, 0.5), duration_s=4.0, near_subscriber=True)
    free, held = simulate(disjoint, UNCONTROLLED, 1), simulate(disjoint, policy, 1)
    # A message or two are still under way at the end.
    assert sum(held.near_received) == pytest.approx(sum(free.near_received), rel=0.005)
    assert held.pairs[0].refused > 0


def test_unequal_flows_come_to_equal_shares() -> None:
    run = simulate(scenario((400.0, 1.0), (150.0, 1.0), duration_s=25.0), IMPROVED, 1)
    rates = [run.rate_msgs_per_s(pair, 12.0, 25.0) for pair in range(2)]
    assert rates == pytest.approx([111.6, 111.6], rel=0.1)
    assert lost_part(run) < 0.02


def test_neither_a_tcp_flow_nor_ours_starves() -> None:
    beside = scenario((400.0, 1.0), duration_s=40.0, kbps=1000.0, tcp=TcpFlow(5.0, 280))
    run = simulate(beside, IMPROVED, 1)
    share = run.tcp_bytes_per_s(15.0, 40.0) / 125_000
    assert 0.25 < share < 0.75


def test_a_run_depends_on_its_seed_alone() -> None:
    short = scenario((300.0, 0.8), duration_s=3.0)
    assert simulate(short, IMPROVED, 1) == simulate(short, IMPROVED, 1)
    assert simulate(short, IMPROVED, 1) != simulate(short, IMPROVED, 2)
