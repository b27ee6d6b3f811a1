"""The scenario files say what the code understands, and small ones hold their expectations."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.gossip.parameters import GossipParameters
from penstock.lab import papers
from penstock.lab.papers.gossip_group import SimulatedGroup, simulate
from penstock.lab.papers.gossip_run import run_scenario
from penstock.lab.papers.gossip_scenario import (
    BufferChange,
    Churn,
    Expectations,
    GossipScenario,
    broken_expectations,
    read_scenario,
)

SCENARIOS = sorted(Path(papers.__file__).parent.glob("scenarios/gossip-*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_file_is_understood_and_named_after_itself(path: Path) -> None:
    assert read_scenario(path).name == path.stem


def test_a_file_with_an_unknown_field_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('name = "x"\npurpose = "y"\nfanout = 4\n[parameters]\n')
    with pytest.raises(ValueError, match=r"wrong\.toml.*fanout"):
        read_scenario(path)


def test_plain_gossip_is_what_its_file_expects() -> None:
    path = next(each for each in SCENARIOS if each.stem == "gossip-plain")
    scenario = msgspec.structs.replace(read_scenario(path), rounds=36, warm_up_rounds=10)
    result = run_scenario(scenario, "sim", 1)
    assert broken_expectations(scenario, result) == []
    assert result.drop_age == pytest.approx(3.7, rel=0.1), "Figure 2 at 30 msg/s"


def test_broken_expectations_are_said_in_words() -> None:
    scenario = GossipScenario(
        "x",
        "y",
        GossipParameters(buffer_events=30, law="none", datagram_bytes=65_000),
        peers=10,
        rounds=12,
        warm_up_rounds=2,
        settle_rounds=5,
        expect=Expectations(receivers_at_least=1.1, receivers_at_most=0.0),
    )
    broken = broken_expectations(scenario, simulate(scenario, 1))
    assert [each.split()[0] for each in broken] == ["receivers", "receivers"]


def test_changes_loss_and_churn_leave_every_invariant_standing() -> None:
    """The machines check themselves after every fact; nothing is delivered twice."""
    scenario = GossipScenario(
        "churn",
        "invariants under everything at once",
        GossipParameters(buffer_events=20, view_size=8, datagram_bytes=1400),
        peers=16,
        offered_msgs_per_s=10.0,
        rounds=40,
        warm_up_rounds=10,
        settle_rounds=8,
        loss=0.2,
        churn=Churn(5, 30, 0.5),
        changes=(BufferChange(15, 0.5, 8), BufferChange(25, 0.5, 25)),
    )
    group = SimulatedGroup(scenario, 3, checked=True)
    result = group.run()
    assert result.receivers > 0.8
    assert all(count <= 25 for count in group.book._receivers.values())


def test_the_same_seed_gives_the_same_run() -> None:
    scenario = GossipScenario(
        "seeded",
        "determinism",
        GossipParameters(buffer_events=20, datagram_bytes=65_000),
        peers=12,
        offered_msgs_per_s=6.0,
        rounds=25,
        warm_up_rounds=5,
        settle_rounds=8,
    )
    first, again = simulate(scenario, 5), simulate(scenario, 5)
    assert msgspec.json.encode(first) == msgspec.json.encode(again)
    assert first != simulate(scenario, 6)
