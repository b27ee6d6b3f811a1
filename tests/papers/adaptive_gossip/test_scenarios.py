"""The scenario files are valid, and small ones meet their expectations."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from penstock.lab.service_runs import read_as, service_of
from penstock.papers.adaptive_gossip.group import SimulatedGroup, simulate
from penstock.papers.adaptive_gossip.run import GossipRun, judge, prepare
from penstock.papers.adaptive_gossip.scenario import (
    BufferChange,
    Churn,
    Expectations,
    GossipScenario,
)

from penstock import papers
from penstock.core.clock import SECOND
from penstock.lab.scenario.file import ScenarioError
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.services.gossip.parameters import GossipParameters

SCENARIOS = sorted(Path(papers.__file__).parent.glob("scenarios/gossip-*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_file_is_valid_and_named_after_its_scenario(path: Path) -> None:
    assert read_as(path, GossipScenario).name == path.stem
    assert service_of(path) == "gossip"


def test_an_unknown_field_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('name = "x"\npurpose = "y"\nfanout = 4\n[parameters]\n')
    with pytest.raises(ScenarioError, match=r"wrong\.toml.*fanout"):
        read_as(path, GossipScenario)
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        read_as(tmp_path / "nowhere.toml", GossipScenario)


def test_plain_gossip_meets_its_expectations() -> None:
    path = next(each for each in SCENARIOS if each.stem == "gossip-plain")
    scenario = msgspec.structs.replace(read_as(path, GossipScenario), rounds=36, warm_up_rounds=10)
    result = GossipRun(scenario, "sim", 1).measure()
    assert [verdict.held for verdict in judge(scenario, result)] == [True]
    assert result.drop_age == pytest.approx(3.7, rel=0.1), "Figure 2 at 30 msg/s"


def test_a_run_is_judged_by_its_expectations() -> None:
    scenario = GossipScenario(
        "x",
        "y",
        GossipParameters(buffer_events=30, law="none", datagram_bytes=65_000),
        peers=10,
        rounds=12,
        warm_up_rounds=2,
        settle_rounds=5,
        expect=Expectations(receivers_at_least=1.1, receivers_at_most=0.0, input_rate_at_least=1.0),
    )
    telemetry, seconds = Telemetry(), list[float]()
    outcome = GossipRun(scenario, "sim", 1).run(telemetry, seconds.append)
    assert [(each.what, each.bound, each.held) for each in outcome.verdicts] == [
        ("receivers", "≥ 1.1", False),
        ("input rate (msg/s)", "≥ 1", True),
        ("receivers", "≤ 0", False),
    ]
    assert "10 peers with 30 buffers and rounds of 5 s published 30.0 of 30.0" in outcome.headline
    assert outcome.measured["receivers"] == outcome.verdicts[0].value
    assert seconds[-1] == 60.0
    assert len(telemetry.series("allowed_msgs_per_s")) == 10


def test_a_group_that_is_too_large_for_sockets_is_refused() -> None:
    path = next(each for each in SCENARIOS if each.stem == "gossip-scale-100000")
    with pytest.raises(ScenarioError, match="100000 peers are too many"):
        prepare(path, "net", 1)
    assert prepare(path, "sim", 1).scenario.peers == 100_000


def test_changes_loss_and_churn_break_no_invariant() -> None:
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
    assert group.book.most_receivers <= 16 + 8, "the peers and their replacements"


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


class Uneven(SimulatedGroup):
    """Two of the peers offer as much as they may, the others hardly anything."""

    def _start_offering(self, name: str) -> None:
        interval_ns = SECOND // 5 if name in ("p0", "p1") else 30 * SECOND
        self.scheduler.at(self.scheduler.now, self._offer, name, interval_ns)


def test_many_idle_senders_do_not_limit_the_few_busy_ones() -> None:
    scenario = GossipScenario(
        "uneven",
        "two senders use what ten others leave",
        GossipParameters(buffer_events=20, datagram_bytes=65_000),
        peers=12,
        rounds=90,
        warm_up_rounds=60,
        settle_rounds=10,
    )
    group = Uneven(scenario, 1)
    result = group.run()
    assert result.input_rate_msgs_per_s > 0.75 * 0.267 * 20, "theory says that they can carry this"
    assert result.receivers > 0.93
    assert not any(peer.waiting for name, peer in group.peers.items() if name not in ("p0", "p1"))
