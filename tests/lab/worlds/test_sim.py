"""A scenario in virtual time: what changes and faults do to brokers, links and clients."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.clock import in_seconds
from penstock.lab.oracle.guaranteed.history import GuaranteedHistory
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement, Pause
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.sim import SimRun

SUBSCRIBER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "subscriber",
    "name": "s",
    "broker": "sb",
}
PUBLISHER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "publisher",
    "name": "p",
    "broker": "pb",
    "rate_msgs_per_s": 50,
}
ROW: dict[str, Any] = {
    "name": "row",
    "duration_s": 6,
    "brokers": [{"name": "pb", "pubends": 1}, {"name": "sb"}],
    "links": [{"between": ["pb", "sb"], "latency_ms": 5}],
    "clients": [SUBSCRIBER, PUBLISHER],
}


def simulated(seed: int = 1, **changes: Any) -> RunResult:
    return run(SimRun(parse_scenario({**ROW, **changes}), seed, checked=True))


def changing(*changes: dict[str, Any], **link: Any) -> RunResult:
    linked = {"between": ["pb", "sb"], "latency_ms": 5, "changes": list(changes), **link}
    result = simulated(links=[linked])
    assert result.judgement.violations == 0, result.judgement.examples
    return result


def delay_s(result: RunResult, from_s: float, to_s: float, aggregate: Any = "p50") -> float:
    what = Measurement(metric="delay_s", aggregate=aggregate, from_s=from_s, to_s=to_s)
    return measure(result, what)


def guaranteed(result: RunResult) -> GuaranteedHistory:
    history = result.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    return history


# -- links -----------------------------------------------------------------------------------------


def test_a_change_of_latency_takes_effect_and_nothing_overtakes() -> None:
    result = changing({"at_s": 2, "latency_ms": 300}, {"at_s": 4, "latency_ms": 5})
    before, during, after = (delay_s(result, at, at + 1) for at in (0.5, 2.8, 4.9))
    assert during - before == pytest.approx(0.295, abs=0.001)
    assert after == pytest.approx(before, abs=0.001)


def test_a_change_of_jitter_takes_effect() -> None:
    result = changing({"at_s": 3, "jitter_ms": 200})
    assert delay_s(result, 0.5, 3, "max") - delay_s(result, 0.5, 3, "min") < 0.005
    assert delay_s(result, 3.5, 6, "max") - delay_s(result, 3.5, 6, "min") > 0.05


def test_a_change_of_loss_takes_effect_until_the_next_one() -> None:
    result = changing({"at_s": 2, "loss": 0.5}, {"at_s": 4, "loss": 0})

    def lost(from_s: float, to_s: float) -> float:
        what = Measurement(
            metric="dropped_messages",
            subject="pb->sb",
            aggregate="increase",
            from_s=from_s,
            to_s=to_s,
        )
        return measure(result, what)

    assert lost(0, 2) == 0
    assert lost(2, 4) > 20
    assert lost(4, 6) == 0


def test_a_change_of_bandwidth_takes_effect_in_both_directions() -> None:
    result = changing({"at_s": 2, "bandwidth_bytes_per_s": 50_000})
    for link in ("pb->sb", "sb->pb"):
        limits = result.telemetry.series("bandwidth_bytes_per_s", subject=link)
        (points,) = limits.values()
        assert [value for at, value in points if result.second(at) < 2] == [0, 0]
        assert {value for at, value in points if 2 < result.second(at) < 6} == {50_000}


def test_what_a_change_does_not_name_stays() -> None:
    result = changing({"at_s": 2, "bandwidth_bytes_per_s": 1_000_000}, latency_ms=200)
    assert delay_s(result, 3, 6) > 0.2


# -- brokers ---------------------------------------------------------------------------------------


def test_a_reconfiguration_adds_a_pubend_and_loses_nothing() -> None:
    late = {**PUBLISHER, "name": "q", "pubend": "pb.2", "start_s": 3.5}
    result = simulated(
        clients=[SUBSCRIBER, PUBLISHER, late],
        faults=[{"at_s": 3, "reconfigure": {"broker": "pb", "pubends": 2}}],
    )
    assert result.judgement.violations == 0, result.judgement.examples
    history = guaranteed(result)
    assert history.publishers["q"].pubends == {"pb.2"}
    assert len(history.publishers["q"]) > 100
    assert set(history.subscribers["s"].pubends) == {"pb.1", "pb.2"}


def test_a_reconfigured_broker_keeps_its_keys_after_a_crash_and_the_next_change() -> None:
    world = SimRun(
        parse_scenario(
            {
                **ROW,
                "duration_s": 4,
                "faults": [
                    {"at_s": 1, "reconfigure": {"broker": "pb", "pubends": 2}},
                    {
                        "at_s": 2,
                        "reconfigure": {"broker": "pb", "guaranteed": {"answer_bytes": 4000}},
                    },
                    {
                        "at_s": 2.5,
                        "reconfigure": {"broker": "pb", "guaranteed": {"relay_cache_bytes": 50}},
                    },
                    {"at_s": 3, "crash": "pb"},
                    {"at_s": 3.1, "restart": "pb"},
                ],
            }
        ),
        1,
        checked=True,
    )
    result = run(world)
    assert result.judgement.violations == 0, result.judgement.examples
    config = world.world.brokers["pb"].config
    (settings,) = [each for each in config.settings if hasattr(each, "pubends")]
    assert settings.pubends == ("pb.1", "pb.2")
    assert settings.guaranteed.answer_bytes == 4000
    assert settings.guaranteed.relay_cache_bytes == 50


def test_a_broker_that_starts_later_is_not_there_before() -> None:
    brokers = [{"name": "pb", "pubends": 1}, {"name": "sb", "start_s": 2}]
    result = simulated(brokers=brokers)
    assert result.judgement.violations == 0
    (received,) = guaranteed(result).subscribers.values()
    assert received.in_force_at is not None
    assert result.second(received.in_force_at) >= 2


# -- clients ---------------------------------------------------------------------------------------


def test_a_durable_subscription_is_closed_and_opened_again_and_misses_nothing() -> None:
    result = simulated(
        clients=[{**SUBSCRIBER, "durable": True}, PUBLISHER],
        faults=[{"at_s": 2, "close": "s"}, {"at_s": 4, "reopen": "s"}],
    )
    assert result.judgement.violations == 0, result.judgement.examples
    received = guaranteed(result).subscribers["s"]
    seconds = [result.second(at) for at in received.received_at]
    assert not [at_s for at_s in seconds if 2.2 < at_s < 4]
    assert len(received) == len(guaranteed(result).publishers["p"])


def test_a_client_leaves_and_comes_back() -> None:
    result = simulated(
        clients=[{**SUBSCRIBER, "durable": True}, PUBLISHER],
        faults=[{"at_s": 2, "leave": "s"}, {"at_s": 4, "come_back": "s"}],
    )
    assert result.judgement.violations == 0, result.judgement.examples
    seconds = [result.second(at) for at in guaranteed(result).subscribers["s"].received_at]
    assert not [at_s for at_s in seconds if 2 < at_s < 4]
    assert [at_s for at_s in seconds if at_s > 4]


def test_a_stopped_client_stays_away_and_is_due_nothing_more() -> None:
    result = simulated(
        clients=[{**SUBSCRIBER, "durable": True, "stop_s": 2}, PUBLISHER],
        faults=[{"at_s": 3, "come_back": "s"}, {"at_s": 4, "reopen": "s"}],
    )
    assert result.judgement.violations == 0, result.judgement.examples
    received = guaranteed(result).subscribers["s"]
    assert received.left_at == result.instant(2)
    assert max(result.second(at) for at in received.received_at) <= 2


def test_a_fault_of_a_client_that_has_not_started_has_no_effect() -> None:
    kinds = ("drop_client", "leave", "come_back", "close", "reopen")
    result = simulated(
        clients=[{**SUBSCRIBER, "durable": True, "start_s": 2}, PUBLISHER],
        faults=[{"at_s": 1, kind: "s"} for kind in kinds],
    )
    assert result.judgement.violations == 0
    assert len(guaranteed(result).subscribers["s"]) > 100


def test_a_publisher_ends_by_itself_and_finishes_what_it_began() -> None:
    result = simulated(clients=[SUBSCRIBER, {**PUBLISHER, "stop_s": 3}])
    history = guaranteed(result)
    assert max(result.second(at) for at in history.publishers["p"].submitted_at) < 3
    assert history.pending == 0
    assert len(history.subscribers["s"]) == len(history.publishers["p"])


def test_a_client_has_the_latency_of_its_access() -> None:
    far = {**SUBSCRIBER, "name": "far", "access": {"latency_ms": 250}}
    result = simulated(clients=[SUBSCRIBER, far, PUBLISHER])
    near_s = measure(result, Measurement(metric="delay_s", subject="s", aggregate="p50"))
    far_s = measure(result, Measurement(metric="delay_s", subject="far", aggregate="p50"))
    assert far_s - near_s == pytest.approx(0.25, abs=0.005)


def test_peers_without_brokers_share_the_clock_and_leave_and_come_back() -> None:
    peer = {"service": "gossip", "name": "g", "count": 4, "rate_msgs_per_s": 2}
    world = SimRun(
        parse_scenario(
            {
                **ROW,
                "parameters": {"gossip": {"gossip_period_ns": 200_000_000}},
                "peer_network": {"latency_ms": 3, "jitter_ms": 0},
                "clients": [SUBSCRIBER, PUBLISHER, peer],
                "faults": [{"at_s": 2, "leave": "g1"}, {"at_s": 4, "come_back": "g1"}],
            }
        ),
        1,
        checked=True,
    )
    result = run(world)
    assert result.judgement.violations == 0, result.judgement.examples
    assert list(result.histories) == ["guaranteed", "gossip"]
    assert all(each.delivered for each in result.histories.values())
    delivered = result.histories["gossip"].events("delivered")["g1"]
    seconds = [result.second(int(at)) for at in delivered.at]
    assert not [at_s for at_s in seconds if 2.01 < at_s < 4]
    assert [at_s for at_s in seconds if at_s > 4]


# -- the result ------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run_and_another_one_does_not() -> None:
    def digest(seed: int) -> str:
        scenario = parse_scenario({**ROW, "duration_s": 2})
        return run(SimRun(scenario, seed, digested=True)).digest

    assert digest(1) == digest(1) != digest(2)


def test_a_result_has_single_tables_and_the_time_of_the_run() -> None:
    result = simulated(clients=[{**SUBSCRIBER, "count": 2}, PUBLISHER])
    assert [each.name for each in result.scenario.clients] == ["s0", "s1", "p"]
    assert (result.world, result.seed) == ("sim", 1)
    assert 6 <= in_seconds(result.ended_at - result.started_at) < 8, "nothing was missing"
    assert result.delivered == guaranteed(result).delivered
    assert result.events > 1000
    assert result.failures == ()


def test_a_paused_broker_handles_what_arrived_when_it_goes_on() -> None:
    faults = [
        {"at_s": 1, "pause": {"broker": "pb", "for_s": 1}},
        {"at_s": 2.5, "pause": {"broker": "pb", "for_s": 0.1, "every_s": 0.2, "until_s": 3}},
        {"at_s": 3.5, "pause": {"broker": "pb", "for_s": 3}},
        {"at_s": 3.6, "crash": "pb"},
        {"at_s": 3.7, "restart": "pb"},
    ]
    world = SimRun(parse_scenario({**ROW, "duration_s": 4, "faults": faults}), 1, checked=True)
    result = run(world)
    assert result.judgement.violations == 0, result.judgement.examples
    ticks = sorted(
        (tick - result.started_at) / 1e9
        for publisher in guaranteed(result).publishers.values()
        for tick in publisher.ticks
    )
    assert not [tick for tick in ticks if 1.0 < tick < 2.0]
    assert not [tick for tick in ticks if 2.71 < tick < 2.79]
    assert [tick for tick in ticks if 2.0 <= tick < 2.1]
    assert [tick for tick in ticks if tick > 3.7]


@pytest.mark.parametrize(
    ("every_s", "until_s", "begins"),
    [(None, 0.0, [5.0]), (2.0, 10.0, [5.0, 7.0, 9.0]), (2.0, 0.0, [5.0])],
)
def test_pauses_are_repeated_until_their_end(
    every_s: float | None, until_s: float, begins: list[float]
) -> None:
    pause = Pause(broker="b", for_s=1, every_s=every_s, until_s=until_s)
    assert pause.begins_s(5.0) == begins
