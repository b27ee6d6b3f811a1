"""The improved law: match, share, return, probe, release, each as its module's rule has it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.mechanisms.rate_meter import RateHistory
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.improved_rate_law import (
    GIVE_BACK,
    PROBE_SHARE,
    SHARE_MARGIN,
    ImprovedRateLaw,
)
from penstock.services.guaranteed.laws.rate_law import AlertReading, Reading, Rule

RATE = 400
NOW = 20 * SECOND


def law(rate: int = RATE) -> ImprovedRateLaw:
    """A law whose pubend has published evenly for twenty seconds."""
    history = RateHistory()
    for tick in range(0, NOW, 100 * MILLISECOND):
        history.add(tick, rate // 10)
    made = ImprovedRateLaw(CongestionParameters(), history)
    # At the query before, bytes waited as well: the queue stands.
    made.alert(live(0.9, sequence=0), observed=float(rate), position=NOW, query=0, now=NOW - SECOND)
    return made


def live(
    rate: float,
    *,
    sequence: int = 1,
    latest: float | None = None,
    horizon: int = NOW,
    link_bytes: int = 1000,
) -> Reading:
    latest = rate if latest is None else latest
    edge = AlertReading(rate, "edge", latest, horizon, "a->b" if link_bytes else "", link_bytes)
    return Reading(sequence, edge, None)


def recovering(rate: float, *, sequence: int = 0, horizon: int = NOW // 2) -> Reading:
    return Reading(sequence, None, AlertReading(rate, "edge", rate, horizon))


def alert(law: ImprovedRateLaw, reading: Reading, *, query: int = 2, now: int = NOW) -> bool:
    return law.alert(reading, observed=float(RATE), position=NOW, query=query, now=now)


def elapse(
    law: ImprovedRateLaw, now: int, *, waiting: bool = True, observed: float = float(RATE)
) -> bool:
    return law.elapse(observed=observed, position=NOW, waiting=waiting, now=now)


def test_match_sets_the_rate_to_what_the_slowest_edge_receives() -> None:
    policy = law()

    assert alert(policy, live(0.25))
    assert policy.limit_msgs_per_s == pytest.approx(0.25 * RATE)
    assert policy.rule is Rule.MATCH


def test_match_takes_off_what_drains_the_backlog() -> None:
    """One second behind is 400 messages; in five seconds they drain at 80 a second."""
    policy = law()
    alert(policy, live(0.5, horizon=NOW - SECOND))

    assert policy.limit_msgs_per_s == pytest.approx(0.5 * RATE - RATE / 5)


def test_match_uses_the_rate_of_the_last_second_and_not_the_smoothed_one() -> None:
    policy = law()
    alert(policy, live(0.9, latest=0.5))

    assert policy.limit_msgs_per_s == pytest.approx(0.5 * RATE)


def test_the_floor_holds() -> None:
    policy = law()
    alert(policy, live(0.0, horizon=0))

    assert policy.limit_msgs_per_s == 1.0


def test_share_takes_what_a_recovering_edge_lacks() -> None:
    """It needs two tick seconds a second; with one and a half it lacks half of 400."""
    policy = law()

    assert alert(policy, recovering(1.5))
    assert policy.limit_msgs_per_s == pytest.approx(RATE - (0.5 + SHARE_MARGIN) * RATE)
    assert policy.rule is Rule.SHARE


def test_share_leaves_something_for_live_traffic_whatever_a_recovery_lacks() -> None:
    policy = law()
    alert(policy, recovering(0.0))

    assert policy.limit_msgs_per_s is not None
    assert 1.0 < policy.limit_msgs_per_s <= 0.1 * RATE


def test_share_does_not_limit_a_pubend_whose_edges_recover_fast_enough() -> None:
    policy = law()

    assert not alert(policy, recovering(3.0))
    assert policy.limit_msgs_per_s is None


def test_share_gives_back_what_a_recovering_edge_has_too_much() -> None:
    policy = law()
    alert(policy, recovering(1.5), query=1)
    taken = policy.limit_msgs_per_s
    assert taken is not None
    alert(policy, recovering(2.1 + SHARE_MARGIN, sequence=1), query=2, now=NOW + SECOND)

    assert policy.limit_msgs_per_s == pytest.approx(taken + GIVE_BACK * 0.1 * RATE)


def test_of_a_live_and_a_recovering_edge_the_lower_target_counts() -> None:
    policy = law()
    both = Reading(1, live(0.25).nonrecovering, recovering(1.5).recovering)
    alert(policy, both)

    assert policy.limit_msgs_per_s == pytest.approx(0.25 * RATE)


def test_an_alert_for_a_query_before_the_last_decrease_is_not_felt_twice() -> None:
    policy = law()
    alert(policy, live(0.5), query=5)

    assert not alert(policy, live(0.1, sequence=4), query=5)
    assert alert(policy, live(0.4, sequence=5), query=6)


def test_return_to_the_measured_capacity_when_the_backlog_is_drained() -> None:
    policy = law()
    alert(policy, live(0.5, horizon=NOW - SECOND))

    assert not elapse(policy, NOW + 2 * SECOND - 1)
    assert elapse(policy, NOW + 2 * SECOND)
    assert policy.limit_msgs_per_s == pytest.approx(0.5 * RATE)
    assert policy.rule is Rule.RETURN_TO_CAPACITY


def test_return_to_no_limit_when_a_recovery_is_over() -> None:
    policy = law()
    alert(policy, recovering(1.5, sequence=1), query=2)
    assert policy.limit_msgs_per_s is not None

    assert not elapse(policy, NOW + SECOND)
    assert elapse(policy, NOW + 2 * SECOND)
    assert policy.limit_msgs_per_s is None
    assert policy.rule is Rule.RETURN_AFTER_RECOVERY


def test_a_match_just_before_a_recovery_is_not_what_it_returns_to() -> None:
    """Answers to the recovering edge fill the way before its first alert says why."""
    policy = law()
    alert(policy, live(0.01), query=1)
    alert(policy, recovering(1.5, sequence=1), query=2, now=NOW + SECOND)
    during = policy.limit_msgs_per_s
    assert during is not None
    assert during >= 0.1 * RATE  # The floor is a share of the rate when the edge stopped.

    assert elapse(policy, NOW + 3 * SECOND)
    assert policy.limit_msgs_per_s == pytest.approx(RATE)


def test_probing_doubles_its_steps() -> None:
    policy = law()
    alert(policy, live(0.5))
    limits = [policy.limit_msgs_per_s or 0.0]
    for number in range(1, 4):
        assert elapse(policy, NOW + number * 2 * SECOND)
        limits.append(policy.limit_msgs_per_s or 0.0)

    steps = [later / before - 1 for before, later in pairwise(limits)]
    assert steps == pytest.approx([PROBE_SHARE, 2 * PROBE_SHARE, 4 * PROBE_SHARE])


def test_an_alert_makes_the_steps_small_again() -> None:
    policy = law()
    alert(policy, live(0.5))
    for number in range(1, 4):
        elapse(policy, NOW + number * 2 * SECOND)
    later = NOW + 8 * SECOND
    alert(policy, live(0.5, sequence=7), query=8, now=later - SECOND)
    alert(policy, live(0.5, sequence=8), query=9, now=later)
    limit = policy.limit_msgs_per_s
    assert limit is not None
    elapse(policy, later + 2 * SECOND)

    assert policy.limit_msgs_per_s == pytest.approx(limit * (1 + PROBE_SHARE))


def test_a_limit_without_effect_is_released() -> None:
    policy = law()
    alert(policy, live(0.5))
    later = NOW + 2 * SECOND

    assert not elapse(policy, later, waiting=False, observed=150.0)
    assert elapse(policy, later, waiting=False, observed=99.0)
    assert policy.limit_msgs_per_s is None
    assert policy.rule is Rule.RELEASE


def test_a_limit_without_effect_is_released_though_publications_wait() -> None:
    """They wait for a full link; otherwise the limit would double without end."""
    policy = law()
    alert(policy, live(0.5))
    for number in range(1, 400):
        elapse(policy, NOW + number * 2 * SECOND, observed=100.0)

    assert policy.limit_msgs_per_s is None
    assert policy.rule is Rule.RELEASE


def test_an_edge_that_rests_while_nothing_waits_on_a_link_slows_nobody() -> None:
    """Its processor is busy: it rests for a moment, and rushes in the next."""
    policy = law()
    for second in range(30):
        now = NOW + second * SECOND
        if second % 5 < 3:
            assert not alert(policy, live(0.5, sequence=second, link_bytes=0), now=now)

    assert policy.limit_msgs_per_s is None


def test_a_queue_counts_when_it_stood_at_the_query_before() -> None:
    policy = law()
    later = NOW + 10 * SECOND

    assert not alert(policy, live(0.5, sequence=9), query=10, now=later)
    assert alert(policy, live(0.5, sequence=10), query=11, now=later + SECOND)


def test_an_edge_that_is_slow_without_a_break_counts_although_no_queue_is_seen() -> None:
    """What waits in a kernel or a switch is seen by no broker."""
    policy = law()
    start = NOW + 5 * SECOND
    acted = [
        alert(
            policy,
            live(0.5, sequence=second, horizon=NOW - second * SECOND // 2, link_bytes=0),
            now=start + second * SECOND,
        )
        for second in range(6)
    ]

    assert acted == [False, False, False, False, True, True]


def test_an_edge_that_does_not_get_later_is_not_slow_whatever_its_smoothed_rate() -> None:
    """Frames of different lengths make the samples vary; the horizon keeps up."""
    policy = law()
    start = NOW + 5 * SECOND
    for second in range(20):
        late = (100 + 50 * (second % 2)) * MILLISECOND
        reading = live(0.9, sequence=second, latest=1.0, horizon=NOW - late, link_bytes=0)
        assert not alert(policy, reading, now=start + second * SECOND)


def test_alerts_of_two_edges_to_one_query_are_no_queue_that_stands() -> None:
    policy = law()
    later = NOW + 10 * SECOND

    assert not alert(policy, live(0.5, sequence=9), query=10, now=later)
    assert not alert(policy, live(0.4, sequence=9), query=10, now=later + 1)
    assert alert(policy, live(0.5, sequence=10), query=11, now=later + SECOND)


def test_an_edge_that_is_far_behind_counts_although_no_queue_is_seen() -> None:
    policy = law()

    assert alert(policy, live(0.5, horizon=NOW - 5 * SECOND, link_bytes=0))


def test_the_verdict_is_the_edge_whose_rule_moved_the_limit() -> None:
    """A recovering edge may be slower than the live one that decides, and the other way round."""
    matched, shared = law(), law()
    thin = live(0.1).nonrecovering
    alert(matched, Reading(1, thin, AlertReading(0.05, "other", 2.0, NOW // 2)))
    alert(shared, Reading(1, live(0.9).nonrecovering, AlertReading(1.5, "other", 0.1, NOW // 2)))

    assert matched.rule is Rule.MATCH
    assert matched.verdict is not None
    assert matched.verdict.worst.edge == "edge"
    assert shared.rule is Rule.SHARE
    assert shared.verdict is not None
    assert shared.verdict.worst.edge == "other"


def test_a_recovering_edge_that_limits_itself_slows_nobody() -> None:
    policy = law()
    itself = AlertReading(0.1, "edge", 0.1, NOW // 2, congested=False)

    assert not alert(policy, Reading(0, None, itself))
    assert policy.limit_msgs_per_s is None


def test_what_was_taken_for_a_recovering_edge_is_given_back_when_it_limits_itself() -> None:
    policy = law()
    alert(policy, recovering(0.5))
    before = policy.limit_msgs_per_s
    itself = AlertReading(0.5, "edge", 0.5, NOW // 2, congested=False)
    policy.alert(
        Reading(2, None, itself), observed=before or 0.0, position=NOW, query=2, now=NOW + SECOND
    )

    assert before is not None
    assert policy.limit_msgs_per_s == pytest.approx(before + GIVE_BACK * RATE)


def test_a_queue_that_stands_holds_a_recovering_edge_up_whatever_the_edge_says() -> None:
    policy = law()
    waits = AlertReading(0.1, "edge", 0.1, NOW // 2, "a->b", 900, congested=False)

    assert not alert(policy, Reading(0, None, waits))
    assert alert(policy, Reading(1, None, waits), query=2, now=NOW + SECOND)
    assert policy.rule is Rule.SHARE
