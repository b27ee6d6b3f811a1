"""Gossip peers in virtual time."""

from __future__ import annotations

import msgspec

from penstock.lab.oracle.gossip.history import GossipHistory
from penstock.lab.result import RunResult
from penstock.services.gossip.telemetry import ROUNDS
from tests.lab.workloads.gossip.groups import group, measured, run_checked, run_in


def history_of(result: RunResult) -> GossipHistory:
    history = result.histories["gossip"]
    assert isinstance(history, GossipHistory)
    return history


def test_changes_loss_and_churn_break_no_rule_and_no_invariant() -> None:
    steps = [[0, 20], [75, 8], [125, 25]]
    scenario = group(
        {"name": "p", "count": 4, "rate_msgs_per_s": 0.6, "buffer_events": steps},
        {"name": "q", "count": 4, "rate_msgs_per_s": 0.6},
        {"name": "l", "count": 4, "rate_msgs_per_s": 0.6, "stop_s": 30.0, "stop_every_s": 30.0},
        {"name": "c", "count": 4, "stop_s": 40.0, "stop_every_s": 30.0, "stops": "crash"},
        {"name": "n", "count": 8, "rate_msgs_per_s": 0.6, "start_s": 30.0, "start_every_s": 15.0},
        loss=0.2,
        buffer_events=20,
        view_size=8,
        datagram_bytes=1400,
    )
    world = run_checked(scenario, 3)
    result = world.result()
    assert result.judgement.violations == 0
    assert measured(result, "receivers", "mean", from_s=50.0, to_s=160.0) > 0.8
    buffers = result.telemetry.series("buffer_events", node="p0").values()
    assert [value for points in buffers for _, value in points][::15][:3] == [20, 8, 25]


def test_the_same_seed_gives_the_same_run() -> None:
    scenario = group({"name": "p", "count": 12, "rate_msgs_per_s": 0.5}, duration_s=125.0)

    def seen(seed: int) -> list[tuple[str, str, int]]:
        return list(history_of(run_in("sim", scenario, seed)).totals())

    first = seen(5)
    assert first == seen(5)
    assert first != seen(6)


def test_a_sender_with_two_waiting_publications_offers_no_more() -> None:
    scenario = group(
        {"name": "p", "rate_msgs_per_s": 2.0},
        {"name": "q", "count": 3},
        law="paper",
        adaptation={"initial_rate_msgs_per_s": 0.1},
    )
    result = run_in("sim", scenario)
    sender = history_of(result).peers["p"]
    offered, blocked = len(sender.offered_at), len(sender.blocked_at)
    assert offered == 2.0 * 200
    assert blocked > 0.5 * offered
    assert 1 <= sender.waiting <= 2
    assert len(sender.published_at) + blocked + sender.waiting == offered
    assert measured(result, "published_rate", from_s=100.0) < 0.3


def test_a_listener_offers_nothing_and_receives() -> None:
    scenario = group({"name": "p", "rate_msgs_per_s": 0.5}, {"name": "q", "count": 5})
    result = run_in("sim", scenario)
    assert measured(result, "delivered", subject="q") > 0
    assert set(history_of(result).events("published")) == {"p"}
    assert measured(result, "delay_s", "p50") < 15.0
    assert measured(result, "receivers", "mean", to_s=150.0) == 1.0


def test_two_groups_share_the_network_and_hear_nothing_of_each_other() -> None:
    scenario = group(
        {"name": "p", "count": 4, "rate_msgs_per_s": 0.2},
        {"name": "q", "count": 4, "rate_msgs_per_s": 0.2, "parameters": {"group": "other"}},
    )
    result = run_in("sim", scenario)
    assert result.judgement.violations == 0
    assert measured(result, "receivers", "mean", to_s=150.0) == 1.0
    assert measured(result, "delivered", subject="other") > 0


def test_a_peer_that_leaves_and_comes_back_is_a_new_one() -> None:
    scenario = group(
        {"name": "p", "count": 8, "rate_msgs_per_s": 0.3},
        faults=({"at_s": 60.0, "leave": "p0"}, {"at_s": 120.0, "come_back": "p0"}),
        buffer_events=200,
    )
    result = run_in("sim", scenario)
    history = history_of(result)
    assert result.judgement.violations == 0
    assert len(history.peers["p0"].lives) == 2
    again = {"subject": "p0", "from_s": 121.0}
    assert measured(result, "delivered", **again) > 0
    assert measured(result, "published", **again) > 0
    assert measured(result, "published", subject="p0", from_s=61.0, to_s=119.0) == 0
    assert measured(result, "receivers", "mean", subject="p0", from_s=125.0, to_s=160.0) == 1.0


def test_skipped_rounds_are_recorded() -> None:
    scenario = group({"name": "p", "count": 3, "rate_msgs_per_s": 0.2}, duration_s=100.0)
    result = run_in("sim", scenario)
    assert measured(result, "skipped_rounds") == 0.0
    rounds = result.telemetry.series(ROUNDS)
    assert {points[-1][1] for points in rounds.values()} <= {19.0, 20.0}


def test_many_idle_senders_do_not_limit_the_few_busy_ones() -> None:
    scenario = group(
        {"name": "busy", "count": 2, "rate_msgs_per_s": 5.0},
        {"name": "idle", "count": 10, "rate_msgs_per_s": 1 / 30},
        duration_s=450.0,
        buffer_events=20,
    )
    result = run_in("sim", scenario)
    window = {"from_s": 300.0, "to_s": 400.0}
    could = 0.267 * 20
    assert measured(result, "published_rate", **window) > 0.75 * could, "theory says this much"
    assert measured(result, "receivers", "mean", **window) > 0.93
    idle = [peer for name, peer in history_of(result).peers.items() if name.startswith("idle")]
    assert not any(peer.waiting for peer in idle)


def test_a_checksum_of_the_run_does_not_depend_on_other_clients_draws() -> None:
    """A peer's own draws have its name: one more peer in another group changes nothing."""
    alone = group({"name": "p", "count": 6, "rate_msgs_per_s": 0.3})
    more = msgspec.structs.replace(
        alone,
        clients=(
            *alone.clients,
            *group({"name": "z", "rate_msgs_per_s": 1.0, "parameters": {"group": "z"}}).clients,
        ),
    )
    totals = list(history_of(run_in("sim", alone)).totals())
    assert [each for each in history_of(run_in("sim", more)).totals() if each[0] != "z"] == totals
