"""The result of a run, in either world."""

from __future__ import annotations

import msgspec

from penstock.core.clock import Instant, seconds
from penstock.lab.scenario.model import Scenario
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.sim.history import History
from penstock.sim.judgement import Judgement


class RunResult(msgspec.Struct, frozen=True):
    scenario: Scenario
    world: str
    seed: int
    started_at: Instant
    ended_at: Instant
    history: History
    judgement: Judgement
    telemetry: Telemetry
    events: int = 0
    """Events that the simulator ran; 0 in the network world."""
    digest: str = ""
    """A hash of all events, if the simulator was asked to keep one."""

    def instant(self, at_s: float) -> Instant:
        """Convert a second of the scenario to an instant of the run's clock."""
        return self.started_at + seconds(at_s)
