"""The table of the content-aware paper: every row has a value and measures what it says."""

from __future__ import annotations

import pytest

from penstock.content.codec.datagram import encode_message
from penstock.core.clock import MILLISECOND, SECOND
from penstock.papers.content_aware.large import LargeRun
from penstock.papers.content_aware.large_rows import large_rows
from penstock.papers.content_aware.live_clients import LivePair, LiveRun, payload_for
from penstock.papers.content_aware.live_tcp import (
    scenario_beside_tcp,
    segment_data_bytes,
    share_row,
)
from penstock.papers.content_aware.measures import adaptation_s, capacity_messages, unfairness
from penstock.papers.content_aware.records import estimate
from penstock.papers.content_aware.result import DatagramRun, PairRun
from penstock.papers.content_aware.rows import (
    capacity_rows,
    disjoint_rows,
    fairness_rows,
    load_rows,
    record_rows,
    tcp_rows,
    tcp_share,
)
from penstock.papers.content_aware.runs import (
    CAPACITY,
    FAIRNESS,
    LARGE,
    PLANS,
    TCP,
    LargeRuns,
    Runs,
    tasks_of,
)
from penstock.papers.content_aware.scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    DatagramScenario,
    load,
)
from penstock.papers.table import PaperRow
from penstock.services.datagram.messages import Attribute, FlowTag, Publication

BUCKET_NS = 250 * MILLISECOND
SEEDS = 2


def made_up(scenario: DatagramScenario, rates: list[float], missed: int = 1) -> DatagramRun:
    """A run in which each subscriber receives at its rate from beginning to end."""
    buckets = round(scenario.duration_s * SECOND) // BUCKET_NS
    pairs = tuple(
        PairRun(
            sent=(round(rate / 4) + missed,) * buckets,
            received=(round(rate / 4),) * buckets,
            missed=(missed,) * buckets,
            delay_ns_total=0,
            refused=0,
        )
        for rate in rates
    )
    carried = sum(round(rate / 4) for rate in rates) * scenario.message_bytes
    return DatagramRun(
        bucket_ns=BUCKET_NS,
        message_bytes=scenario.message_bytes,
        published=(1000,) * buckets,
        carried_bytes=(carried,) * buckets,
        tcp_bytes=(15_625,) * buckets,
        near_received=(100,) * buckets,
        pairs=pairs,
    )


TAG = FlowTag("subscriber-1@far", 1, 100_000, 10_000_000)


def message_with(*tags: FlowTag) -> Publication:
    """A message of a live publisher, without a payload."""
    attributes: dict[str, Attribute] = {"pair": 0, "kind": "wanted"}
    sent_at = 10**18
    return Publication(
        "publisher-1@near", sent_at, 100_000, sent_at, 1000.0, bytes(64), tags, attributes, b""
    )


@pytest.fixture
def runs() -> Runs:
    """One synthetic run for every task of the plans, except the large ones."""
    found: Runs = {}
    for task in tasks_of(PLANS, SEEDS):
        if task.scenario != LARGE:
            scenario = load(task.scenario)
            missed = 50 if task.policy == UNCONTROLLED else 1
            run = made_up(scenario, [100.0] * len(scenario.pairs), missed)
            found.setdefault((task.scenario, task.policy.name), []).append(run)
    return found


@pytest.fixture
def large() -> LargeRuns:
    """The same for the large experiment."""
    found: LargeRuns = {}
    for task in tasks_of(PLANS, SEEDS):
        if task.scenario == LARGE:
            every = (10,) * 30
            run = LargeRun(every, every, every, every, every, every, every, 0.05, 100.0)
            found.setdefault(task.policy.name, []).append(run)
    return found


def test_every_row_has_a_value(runs: Runs, large: LargeRuns) -> None:
    rows: list[PaperRow] = [
        *load_rows(runs),
        *capacity_rows(runs),
        *fairness_rows(runs),
        *tcp_rows(runs),
        *disjoint_rows(runs),
        *large_rows(large),
    ]
    assert [row.metric for row in rows if row.paper_law is None] == []
    judged = [row for row in rows if row.bar != "shown" or row.stretch != "–"]
    assert [row.metric for row in judged if row.improved_law is None] == []
    assert {row.seeds for row in judged} == {SEEDS}
    assert {row.seeds for row in rows if "records alone" in row.run} == {1}


def test_records_of_five_messages_are_near_the_ideal_receiver() -> None:
    five, two = record_rows([estimate(1)])
    assert five.verdict == "reproduced"
    assert two.bar == "shown"


def test_the_time_to_use_a_larger_capacity_is_the_longest_of_all_steps() -> None:
    scenario = load(CAPACITY)
    run = made_up(scenario, [scenario.capacity_msgs_per_s(0.0)])
    assert adaptation_s(scenario, run) > scenario.duration_s - 200.0
    full = made_up(scenario, [scenario.capacity_msgs_per_s(40.0)])
    assert adaptation_s(scenario, full) == full.bucket_s


def test_a_varying_capacity_is_summed_step_by_step() -> None:
    scenario = load(CAPACITY)
    assert capacity_messages(scenario) == pytest.approx(120 * (125_000 + 250_000) / 280)


@pytest.mark.parametrize(
    ("rates", "per_cent"), [([149.0, 149.0, 149.0], 1), ([298.0, 74.0, 74.0], 100)]
)
def test_unfairness_is_the_worst_flows_distance_from_max_min(
    rates: list[float], per_cent: float
) -> None:
    scenario = load(FAIRNESS)
    run = made_up(scenario, rates)
    assert unfairness(scenario, run, 120.0, 200.0) == pytest.approx(per_cent, abs=2)


def test_a_live_run_is_measured_like_a_simulated_one() -> None:
    scenario = load(FAIRNESS)
    received = (37,) * 1200
    live = LiveRun(tuple(LivePair(sum(received), received) for _ in range(3)))
    simulated = made_up(scenario, [148.0] * 3)
    assert unfairness(scenario, live, 120.0, 200.0) == unfairness(scenario, simulated, 120.0, 200.0)


def test_smaller_messages_on_a_real_link_are_not_unfair() -> None:
    scenario = load(FAIRNESS)
    counts = (48, 36, 36)
    live = LiveRun(tuple(LivePair(1200 * each, (each,) * 1200) for each in counts))
    # 480 per second where 446 of full size would fit; two of the flows want at most 150.
    assert unfairness(scenario, live, 120.0, 200.0) == pytest.approx(100 * 12 / 180)


def test_late_messages_of_a_live_run_are_not_lost_and_part_of_no_rate() -> None:
    live = LiveRun((LivePair(100, (40, 40), late_messages=15),))
    assert live.missed_messages == 5
    assert live.received_messages == 80
    assert live.rate_msgs_per_s(0, 0.25, 0.5) == 160.0


def test_the_live_tcp_row_judges_the_median_run() -> None:
    shares = {UNCONTROLLED.name: [1.0], FLOWS.name: [61.0, 50.0, 51.0], IMPROVED.name: [44.0]}
    row = share_row("live", shares)
    assert (row.paper_law, row.improved_law) == (51.0, 44.0)


def test_a_live_segment_is_as_large_as_a_message() -> None:
    scenario = scenario_beside_tcp()
    assert segment_data_bytes(scenario) + 14 + 20 + 32 == scenario.message_bytes


def test_live_messages_have_one_size_with_and_without_a_tag() -> None:
    tagged, bare = (len(payload_for(280, 2, controlled=each)) for each in (True, False))
    assert bare - tagged == len(encode_message(message_with(TAG))) - len(
        encode_message(message_with())
    )


def test_tcps_share_is_of_the_whole_link() -> None:
    assert tcp_share(TCP, made_up(load(TCP), [200.0])) == pytest.approx(50.0)


def test_tcp_starves_beside_both_uncontrolled_flows() -> None:
    for name in (TCP, "tcp-thin"):
        scenario = load(name)
        wanted = sum(pair.matching * pair.rate_msgs_per_s[0].msgs_per_s for pair in scenario.pairs)
        assert wanted > scenario.capacity_msgs_per_s(0.0)
