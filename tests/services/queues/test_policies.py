"""The policies: numbers in, numbers out (Section IV)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, MINUTE, SECOND
from penstock.services.queues.alias.distance import Distance
from penstock.services.queues.laws.allotment import Shares, Turns
from penstock.services.queues.laws.balancer import Balancer, LoadSample
from penstock.services.queues.laws.factory import balancing_law
from penstock.services.queues.laws.law import QueueView
from penstock.services.queues.laws.period import period_ns
from penstock.services.queues.laws.shares import balanced_shares, capacity
from penstock.services.queues.laws.weights import paper_weights
from penstock.services.queues.parameters import AliasConfig, QueueParameters

names = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True)


# -- Algorithm 1 (Section IV.B) ---------------------------------------------------------------


def test_weights_are_parts_of_the_consumption_in_hundredths():
    weights = paper_weights({"a": 1400, "b": 600}, {"a": 0, "b": 0}, 3000, {})
    assert weights == {"a": 70, "b": 30}


def test_a_queue_above_max_load_loses_a_tenth_and_the_others_gain_nothing():
    weights = paper_weights({"a": 1000, "b": 1000}, {"a": 3001, "b": 3000}, 3000, {})
    assert weights == {"a": 45, "b": 50}


def test_a_weight_is_at_least_one_and_an_idle_system_keeps_its_weights():
    assert paper_weights({"a": 0, "b": 10}, {"a": 0, "b": 0}, 1, {}) == {"a": 1, "b": 100}
    idle = paper_weights({"a": 0, "b": 0}, {"a": 0, "b": 0}, 1, {"a": 7, "b": 3})
    assert idle == {"a": 7, "b": 3}


def test_the_period_follows_from_the_overhead():
    # Two queues, two messages each, 0.1 % of 2,000 a second: two seconds.
    assert period_ns(4, 0.001, 2000, least=MILLISECOND, most=MINUTE) == 2 * SECOND
    assert period_ns(4, 0.001, 0, least=MILLISECOND, most=MINUTE) == MINUTE
    assert period_ns(4, 0.001, 1e9, least=MILLISECOND, most=MINUTE) == MILLISECOND


# -- sharing out ------------------------------------------------------------------------------


@given(
    names,
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 100)),
    st.lists(st.integers(1, 300), max_size=20),
)
def test_turns_give_what_one_message_at_a_time_would(eligible, weights, counts):
    whole, single = Turns(), Turns()
    whole.weights = single.weights = weights
    for count in counts:
        given_at_once = whole.allot(count, eligible)
        one_by_one = dict.fromkeys(eligible, 0)
        for _ in range(count):
            for name, one in single.allot(1, eligible).items():
                one_by_one[name] += one
        assert given_at_once == one_by_one


@given(
    names,
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)),
    st.lists(st.integers(1, 300), max_size=20),
)
def test_shares_give_everything_and_never_stray_far(eligible, shares, counts):
    policy = Shares()
    policy.set(shares)
    total = dict.fromkeys(eligible, 0)
    for count in counts:
        allotted = policy.allot(count, eligible)
        assert sum(allotted.values()) == count
        assert min(allotted.values()) >= 0
        for name, some in allotted.items():
            total[name] += some
    known = [shares[name] for name in eligible if name in shares]
    usual = sum(known) / len(known) if known else 1.0
    parts = {name: shares.get(name, usual) for name in eligible}
    if sum(parts.values()) > 0:
        for name, part in parts.items():
            fair = sum(counts) * part / sum(parts.values())
            assert abs(total[name] - fair) <= len(eligible)


# -- our law ----------------------------------------------------------------------------------


def test_capacity_is_what_was_consumed_while_there_was_something():
    assert capacity(500, 0.5, None) == 1000
    assert capacity(0, 0.0, 800.0) == 800.0


def test_shares_are_by_capacity_when_the_backlog_is_even():
    views = {"a": QueueView(1400, 700), "b": QueueView(600, 300)}
    assert balanced_shares(views, 2000, 1) == pytest.approx({"a": 0.7, "b": 0.3})


def test_backlog_moves_to_where_it_is_worked_off_soonest():
    views = {"a": QueueView(1000, 1000), "b": QueueView(1000, 0)}
    shares = balanced_shares(views, 2000, 1)
    # 500 too many here and too few there, made good over five seconds.
    assert shares == pytest.approx({"a": 0.45, "b": 0.55})


def test_two_alias_queues_make_good_half_each():
    views = {"a": QueueView(1000, 1000, 2), "b": QueueView(1000, 0, 2)}
    assert balanced_shares(views, 1000, 1)["a"] == pytest.approx(0.45)


@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.builds(
            QueueView, st.none() | st.floats(0.1, 1e6), st.integers(0, 10**7), st.integers(0, 5)
        ),
        min_size=1,
    ),
    st.floats(0, 1e6),
    st.floats(0.1, 60),
)
def test_shares_always_sum_to_one(views, produced, period_s):
    shares = balanced_shares(views, produced, period_s)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= 0


# -- the controller ---------------------------------------------------------------------------


def _balancer(**config):
    law = balancing_law(AliasConfig("q", ("a@x", "b@y"), **config))
    return Balancer(law, 0.001, QueueParameters(), 0)


def test_the_paper_regulates_by_consumption():
    balancer = _balancer(law="paper")
    assert balancer.begin(0) == 10 * SECOND
    for queue in ("a", "b"):
        balancer.report(queue, LoadSample(1, 0, 0, 0, 0))
    balancer.produced(20_000)
    balancer.report("a", LoadSample(1, 10 * SECOND, 0, 14_000, 10 * SECOND))
    balancer.report("b", LoadSample(1, 10 * SECOND, 0, 6_000, 10 * SECOND))
    assert balancer.regulate(["a", "b"], 10 * SECOND)
    assert (balancer.weight("a"), balancer.weight("b")) == (70, 30)
    assert balancer.period_ns == 2 * SECOND
    assert balancer.allot(100, ["a", "b"]) == {"a": 70, "b": 30}


def test_our_law_sees_capacity_where_the_paper_sees_idleness():
    balancer = _balancer(law="improved")
    balancer.begin(0)
    for queue in ("a", "b"):
        balancer.report(queue, LoadSample(1, 0, 0, 0, 0))
    balancer.produced(2000)
    # Both consumed 1,000, but one of them needed only two thirds of the time for it.
    balancer.report("a", LoadSample(1, SECOND, 0, 1000, 666 * MILLISECOND))
    balancer.report("b", LoadSample(1, SECOND, 0, 1000, SECOND))
    assert balancer.regulate(["a", "b"], SECOND)
    assert balancer.weight("a") == pytest.approx(0.6, abs=0.01)


def test_nothing_produced_ends_the_loop():
    assert not _balancer().regulate(["a"], SECOND)


def test_a_restarted_destination_gives_no_rate_until_its_second_report():
    balancer = _balancer()
    balancer.report("a", LoadSample(1, 0, 0, 500, 0))
    balancer.report("a", LoadSample(2, SECOND, 0, 10, 0))
    assert balancer.consumption_msgs_per_s("a") is None
    assert balancer.load("a") == 0


def test_round_robin_and_fixed_weights():
    assert _balancer(balancing="round-robin").allot(5, ["a", "b"]) == {"a": 3, "b": 2}
    weighted = _balancer(balancing="weighted", weights={"a": 3})
    assert weighted.allot(8, ["a", "b"]) == {"a": 6, "b": 2}


# -- how far away a destination is -----------------------------------------------------------------


def test_a_destination_is_as_far_as_its_quickest_answer() -> None:
    distance = Distance()
    assert distance.least_ns is None
    assert not distance.is_within(SECOND)
    for taken_ms in (40, 3, 90):
        distance.measured(taken_ms * MILLISECOND, SECOND)
    assert distance.least_ns == 3 * MILLISECOND
    assert distance.is_within(3 * MILLISECOND)
    assert not distance.is_within(2 * MILLISECOND)


def test_a_destination_that_moved_away_is_noticed_after_two_windows() -> None:
    distance = Distance()
    distance.measured(3 * MILLISECOND, 0)
    for second in range(10, 30, 5):
        distance.measured(80 * MILLISECOND, second * SECOND)
        near = distance.is_within(25 * MILLISECOND)
        assert near == (second < 20), f"at {second} s"
