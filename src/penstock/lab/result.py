"""The result of a run, in any world."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.core.clock import Instant, in_seconds, seconds
from penstock.lab.oracle.history import History
from penstock.lab.oracle.judgement import Judgement, merged
from penstock.lab.scenario.model import Scenario
from penstock.lab.telemetry.telemetry import Telemetry


class RunResult(msgspec.Struct, frozen=True):
    scenario: Scenario
    """With single tables."""
    world: str
    seed: int
    started_at: Instant
    ended_at: Instant
    histories: Mapping[str, History]
    """What the applications saw, by service."""
    judgements: Mapping[str, Judgement]
    """Whether it keeps the promises, by service."""
    telemetry: Telemetry
    failures: tuple[str, ...] = ()
    """Descriptions of machines that raised; no application sees them."""
    events: int = 0
    """Events that the simulator ran; 0 in the network world."""
    digest: str = ""
    """A hash of all events, if the simulator was asked to keep one."""

    def instant(self, at_s: float) -> Instant:
        """Convert a second of the scenario to an instant of the run's clock."""
        return self.started_at + seconds(at_s)

    def second(self, at: Instant) -> float:
        """Convert an instant of the run's clock to a second of the scenario."""
        return in_seconds(at - self.started_at)

    @property
    def judgement(self) -> Judgement:
        """All services together, and the machines that raised."""
        whole = merged(self.judgements.values())
        whole.broken["machine_failures"] = len(self.failures)
        for failure in self.failures:
            whole.tell(failure)
        return whole

    @property
    def delivered(self) -> int:
        """Messages that all receiving clients of all services received."""
        return sum(each.delivered for each in self.histories.values())
