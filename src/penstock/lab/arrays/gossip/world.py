"""A scenario of one gossip group that runs as arrays."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Instant, seconds
from penstock.lab.arrays.gossip.group import PHASES, ArrayGroup
from penstock.lab.arrays.gossip.settings import group_settings
from penstock.lab.oracle.history import History
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Client, Fault, Link, LinkChange, Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.workloads.gossip.tables import SERVICE
from penstock.lab.worlds.world import UnsupportedHere
from penstock.sim.world import EPOCH


class ArrayWorld:
    """One run of one group in virtual time."""

    name = "arrays"

    def __init__(self, scenario: Scenario, seed: int, telemetry: Telemetry) -> None:
        """Raises ``ScenarioError`` if the scenario is not one group that stays the same."""
        self.scenario = expanded(scenario, seed)
        self.seed = seed
        self.telemetry = telemetry
        self.group = ArrayGroup(group_settings(self.scenario), seed)
        self.histories: Mapping[str, History] = {SERVICE: self.group.history}
        self._period = self.group.settings.parameters.gossip_period_ns
        self._stop_at = EPOCH + seconds(self.scenario.duration_s)
        self._steps = 0
        self._now: Instant = EPOCH

    def open(self) -> None:
        """The group exists from the beginning."""

    def run_until(self, at_s: float) -> None:
        """Run every step that ends by then."""
        self._now = EPOCH + seconds(at_s)
        while self._step_at(self._steps + 1) <= self._now:
            at = self._step_at(self._steps)
            self._steps += 1
            self.telemetry.extend(self.group.step(now=at, offers=at < self._stop_at))

    def _step_at(self, number: int) -> Instant:
        return EPOCH + number * self._period // PHASES

    def start_client(self, client: Client, stop_s: float) -> None:
        """All peers are there from the beginning to the end."""

    def start_broker(self, broker: str) -> None:
        raise UnsupportedHere("arrays have no brokers; use --world sim")

    def stop_client(self, client: Client) -> None:
        raise UnsupportedHere("peers do not stop in arrays; use --world sim")

    def change_link(self, link: Link, change: LinkChange) -> None:
        raise UnsupportedHere("arrays have no links; use --world sim")

    def strike(self, fault: Fault) -> None:
        raise UnsupportedHere("arrays have no faults; use --world sim")

    def close(self) -> None:
        """Complete the history."""
        self.group.finish()
        self.telemetry.close()

    def result(self, judgements: Mapping[str, Judgement] | None = None) -> RunResult:
        """The result; judged again, because events on their way were added at the end."""
        return RunResult(
            self.scenario,
            self.name,
            self.seed,
            EPOCH,
            self._now,
            self.histories,
            {name: each.judge() for name, each in self.histories.items()},
            self.telemetry,
        )
