"""Runs one gossip scenario in the world and engine that suit it, and judges it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.lab.scenario.expectations import Verdict
from penstock.lab.scenario.file import ScenarioError
from penstock.lab.service_runs import Progress, ScenarioRun, ServiceOutcome, Source, read_as
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.arrays.gossip.group import run_arrays
from penstock.papers.adaptive_gossip.compressed import compressed
from penstock.papers.adaptive_gossip.group import SimulatedGroup
from penstock.papers.adaptive_gossip.live import LiveGroup, run_group
from penstock.papers.adaptive_gossip.scenario import GossipResult, GossipScenario

MOST_MACHINES: Final = 500
"""Larger groups run as arrays: machines need a second per round of 1,000 peers."""

MOST_LIVE_PEERS: Final = 120
"""60 peers with rounds of 100 ms need half a core, and one process has one core."""

MEASURES: Final = {
    "receivers": "the share of the peers that received an event, on average",
    "atomic": "the share of the events that reached at least 95 % of the peers",
    "input_rate_msgs_per_s": "the published rate of all peers",
    "allowed_rate_msgs_per_s": "the allowed rate of all peers",
    "output_rate_msgs_per_s": "input rate times the share of receivers",
    "drop_age": "the average age of the events that full buffers dropped",
    "group_size": "the peers' estimate of the group's size",
}


class GossipRun(ScenarioRun[GossipScenario], frozen=True):
    """A scenario as a world runs it."""

    @property
    def measures(self) -> Mapping[str, str]:
        return MEASURES

    def run(self, telemetry: Telemetry, progress: Progress) -> ServiceOutcome:
        """Run and judge it."""
        result = self.measure(telemetry, progress)
        measured = {
            name: value
            for name, value in msgspec.to_builtins(result).items()
            if not name.endswith("_by_round") and name != "seed"
        }
        return ServiceOutcome(self._headline(result), measured, judge(self.scenario, result))

    def measure(
        self, telemetry: Telemetry | None = None, progress: Progress = lambda at_s: None
    ) -> GossipResult:
        """Run it; ``progress`` receives the current second."""
        scenario = self.scenario
        if self.world == "net":
            return run_group(LiveGroup(scenario, self.seed, telemetry), progress)
        if scenario.peers > MOST_MACHINES:
            return run_arrays(scenario, self.seed, telemetry, progress)
        return SimulatedGroup(scenario, self.seed, telemetry).run(progress)

    def _headline(self, result: GossipResult) -> str:
        scenario = self.scenario
        return (
            f"{scenario.peers} peers with {scenario.parameters.buffer_events} buffers and rounds "
            f"of {scenario.period_s:g} s published {result.input_rate_msgs_per_s:.1f} of "
            f"{scenario.offered_msgs_per_s:.1f} msg/s, which {result.receivers:.1%} of the peers "
            f"received"
        )


def prepare(source: Source, world: str, seed: int) -> GossipRun:
    """Read a scenario for a world; raises ``ScenarioError`` also if that world cannot run it.

    The network runs it on a smaller scale (compressed.py).
    """
    scenario = read_as(source, GossipScenario)
    if world == "sim":
        return GossipRun(scenario, world, seed)
    if scenario.peers > MOST_LIVE_PEERS:
        raise ScenarioError(
            f"{scenario.name}: {scenario.peers} peers are too many for the sockets of one process; "
            f"at most {MOST_LIVE_PEERS} run live, so use --world sim"
        )
    return GossipRun(compressed(scenario), world, seed)


def judge(scenario: GossipScenario, result: GossipResult) -> list[Verdict]:
    """The verdicts on the scenario's expectations."""
    expect = scenario.expect
    lower = (
        ("receivers", expect.receivers_at_least, result.receivers),
        ("atomic", expect.atomic_at_least, result.atomic),
        ("input rate (msg/s)", expect.input_rate_at_least, result.input_rate_msgs_per_s),
    )
    verdicts = [
        Verdict(what, f"≥ {bound:g}", value, value >= bound)
        for what, bound, value in lower
        if bound is not None
    ]
    if expect.receivers_at_most is not None:
        most, value = expect.receivers_at_most, result.receivers
        verdicts.append(Verdict("receivers", f"≤ {most:g}", value, value <= most))
    return verdicts
