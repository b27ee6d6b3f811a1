"""Senders and members in the simulator: they keep their pace, wait for members, and come back."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.lab.oracle.multicast.clients import Outcome
from penstock.lab.run import run
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.workloads.multicast.machines import WAIT_FOR_MEMBERS_NS
from penstock.lab.worlds.sim import SimRun
from penstock.sim.world import EPOCH

from .groups import history_of, member, run_in, scenario, sender


def test_a_sender_with_a_rate_sends_at_it_and_every_member_gets_everything() -> None:
    result = run_in(
        "sim",
        scenario(
            member("m", "c"), member("n", "a"), sender("s", "a", rate_msgs_per_s=100),
            duration_s=3.0,
        ),
    )  # fmt: skip
    history = history_of(result)
    assert result.judgement.violations == 0
    assert len(history.senders["s"]) == pytest.approx(300, abs=10)
    assert len(history.members["m"]) == len(history.members["n"]) == len(history.senders["s"])
    assert history.senders["s"].count(Outcome.CONFIRMED) == len(history.senders["s"])


def test_a_rate_can_follow_a_curve_and_messages_can_be_limited() -> None:
    result = run_in(
        "sim",
        scenario(
            member("m", "c"),
            sender("rises", "a", rate_msgs_per_s=[[0, 0], [1, 0], [1.5, 200], [2, 200]]),
            sender("ends", "a", rate_msgs_per_s=100, messages=7),
        ),
    )
    rises = history_of(result).senders["rises"]
    assert min(rises.submitted_at) >= EPOCH + SECOND
    assert len(rises) == pytest.approx(150, abs=30)
    assert len(history_of(result).senders["ends"]) == 7


def test_a_sender_without_a_rate_fills_the_thinnest_link_and_stops_in_time() -> None:
    links = [{"between": ["a", "b"], "bandwidth_bytes_per_s": 250_000}, {"between": ["b", "c"]}]
    greedy = sender("s", "a", wire_bytes=1000, max_in_flight=100)
    result = run_in("sim", scenario(member("m", "c"), greedy, links=links, duration_s=6.0))
    history = history_of(result)
    sent = history.events("sent")["s"].at
    late = sent[(sent >= EPOCH + 3 * SECOND) & (sent < EPOCH + 6 * SECOND)]
    assert len(late) / 3 == pytest.approx(250, rel=0.05)
    assert max(history.senders["s"].submitted_at) < EPOCH + 6 * SECOND
    assert history.pending == 0
    assert result.judgement.violations == 0


def test_a_sender_waits_for_the_members_that_start_with_it() -> None:
    first = member("m", "c", start_s=0.5)
    result = run_in("sim", scenario(first, sender("s", "a", messages=5, start_s=0.5)))
    history = history_of(result)
    assert history.senders["s"].listed_at.keys() == {"m"}
    assert min(history.senders["s"].submitted_at) >= history.members["m"].joined_at[0]
    assert len(history.members["m"]) == 5


def test_a_sender_begins_without_members_that_a_fault_keeps_away() -> None:
    cut = {"at_s": 0.0, "cut": ["b", "c"]}
    result = run_in(
        "sim",
        scenario(
            member("m", "c"), member("n", "a"), sender("s", "a", messages=5), faults=[cut],
            duration_s=15.0,
        ),
    )  # fmt: skip
    history = history_of(result)
    assert min(history.senders["s"].submitted_at) >= EPOCH + WAIT_FOR_MEMBERS_NS
    assert (len(history.members["m"]), len(history.members["n"])) == (0, 5)
    assert result.judgement.violations == 0, "nobody knew the member"


def test_messages_to_a_group_that_must_exist_are_refused() -> None:
    result = run_in("sim", scenario(sender("s", "a", "nobody", must_exist=True, messages=3)))
    history = history_of(result)
    assert history.senders["s"].count(Outcome.REFUSED) == 3
    assert list(history.senders["s"].reasons) == ["group 'nobody' has no members"]


def test_a_member_that_leaves_and_comes_back_has_two_stays() -> None:
    faults = [{"at_s": 0.5, "leave": "m"}, {"at_s": 1.0, "come_back": "m"}]
    result = run_in(
        "sim", scenario(member("m", "c"), sender("s", "a", rate_msgs_per_s=100), faults=faults)
    )
    received = history_of(result).members["m"]
    assert len(received.joined_at) == 2
    assert received.left_at[0] == EPOCH + SECOND // 2
    assert 80 < len(received) < 180
    assert result.judgement.violations == 0


def test_a_member_that_stops_is_due_nothing_more() -> None:
    result = run_in(
        "sim", scenario(member("m", "c", stop_s=1.0), sender("s", "a", rate_msgs_per_s=100))
    )
    assert 80 < len(history_of(result).members["m"]) < 105
    assert result.judgement.violations == 0


def test_a_slow_member_reads_at_its_pace_and_holds_the_sender_back() -> None:
    result = run_in(
        "sim",
        scenario(
            member("m", "c", read_msgs_per_s=50, window_bytes=1000),
            sender("s", "a", max_in_flight=10),
            duration_s=4.0,
        ),
    )
    history = history_of(result)
    assert len(history.members["m"]) == pytest.approx(200, abs=25)
    assert result.judgement.violations == 0


def test_a_lost_message_would_be_seen() -> None:
    """The judge judges real runs: what a member did not write down is missing."""
    history = history_of(run_in("sim", scenario(member("m", "c"), sender("s", "a", messages=20))))
    received = history.members["m"]
    assert history.judge().violations == 0
    for column in (received.received_at, received.producers, received.numbers):
        del column[10]
    del received.fingerprints[10]
    assert history.judge().broken["lost"] == 1
    assert not history.complete()


@pytest.mark.parametrize("seed", range(1, 31))
def test_random_scenarios_keep_every_promise(seed: int) -> None:
    result = run(SimRun(random_scenario(seed, ("multicast",)), seed, checked=True))
    history = history_of(result)
    assert result.judgement.violations == 0, result.judgement.examples
    assert history.pending == 0
