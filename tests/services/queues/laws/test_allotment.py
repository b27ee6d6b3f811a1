"""Turns and shares: how a run of messages is divided."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.queues.laws.allotment import Shares, Turns

names = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True)
runs = st.lists(st.integers(1, 300), max_size=20)


@given(names, st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 100)), runs)
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


def test_a_turn_continues_in_the_next_run():
    turns = Turns()
    turns.weights = {"a": 3}
    assert turns.allot(2, ["a", "b"]) == {"a": 2, "b": 0}
    assert turns.allot(2, ["a", "b"]) == {"a": 1, "b": 1}
    assert turns.weight("a") == 3
    assert turns.weight("b") == 1


@given(names, st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)), runs)
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


def test_shares_are_equal_until_they_are_set():
    policy = Shares()
    assert policy.allot(4, ["a", "b"]) == {"a": 2, "b": 2}
    assert policy.share("a") == 1.0
    policy.set({"a": 0.75, "b": 0.25})
    assert policy.allot(4, ["a", "b"]) == {"a": 3, "b": 1}
    assert policy.share("a") == 0.75
