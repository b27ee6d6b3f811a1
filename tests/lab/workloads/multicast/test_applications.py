"""Senders and members as applications of the client library, with real brokers."""

from __future__ import annotations

from penstock.lab.oracle.multicast.clients import Outcome

from .groups import history_of, member, run_in, scenario, sender


def test_a_crash_a_cut_and_a_member_that_comes_back() -> None:
    """What the simulator promises holds for processes: nothing lost, nothing twice, in order."""
    result = run_in(
        "net",
        scenario(
            member("m", "c"), member("n", "a"), member("comes-back", "b"),
            sender("s", "a", rate_msgs_per_s=50, attributes={"n": "number:"}),
            sender("greedy", "c", "g", "h", max_in_flight=20, messages=500),
            duration_s=4.0,
            faults=[
                {"at_s": 1.0, "leave": "comes-back"},
                {"at_s": 1.2, "cut": ["b", "c"]},
                {"at_s": 1.8, "mend": ["b", "c"]},
                {"at_s": 2.0, "crash": "a"},
                {"at_s": 2.2, "restart": "a"},
                {"at_s": 2.5, "come_back": "comes-back"},
            ],
        ),
    )  # fmt: skip
    history = history_of(result)
    assert result.judgement.violations == 0, result.judgement.examples
    assert history.pending == 0
    greedy = len(history.senders["greedy"])
    assert 0 < greedy <= 500, "all of them, unless the machine is busy"
    assert len(history.senders["s"].connected_at) == 2, "its broker crashed"
    assert {"m", "n"} <= history.senders["s"].listed_at.keys()
    assert len(history.members["m"].joined_at) == 1
    assert len(history.members["comes-back"].joined_at) == 2
    assert len(history.members["n"].joined_at) == 2
    assert len(history.members["m"]) > greedy, "and those of the other sender"
    assert list(history.members["m"].views)[:1] == [1]


def test_refusals_are_recorded() -> None:
    refused = sender("s", "a", "nobody", must_exist=True, messages=3)
    result = run_in("net", scenario(member("m", "c"), refused, duration_s=1.0))
    assert history_of(result).senders["s"].count(Outcome.REFUSED) == 3
