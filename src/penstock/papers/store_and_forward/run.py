"""``penstock run`` for the scenario files of the queue service, in either world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from penstock.lab.scenario.expectations import Verdict
from penstock.lab.service_runs import Progress, ScenarioRun, ServiceOutcome, Source, read_as
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.store_and_forward.live import COMPRESSED, run_live
from penstock.papers.store_and_forward.runs import simulate
from penstock.papers.store_and_forward.scenario import QueueScenario

MEASURES: Final = {
    "total_s": "seconds from the first message until the last one was consumed",
    "highest_load_messages": "the largest number of messages in a queue",
    "consumed.0": "messages that the first consumer processed",
    "consumed.1": "messages that the second consumer processed",
}


class QueueRun(ScenarioRun[QueueScenario], frozen=True):
    """A scenario as a world runs it."""

    @property
    def measures(self) -> Mapping[str, str]:
        return MEASURES

    def run(self, telemetry: Telemetry, progress: Progress) -> ServiceOutcome:
        """Run and judge it."""
        scenario = self.scenario
        if self.world == "net":
            with TemporaryDirectory(prefix="penstock-queues-") as directory:
                total_s = run_live(scenario, scenario.policy, Path(directory))
            measured: dict[str, Any] = {"total_s": total_s}
        else:
            result = simulate(scenario, scenario.policy, self.seed, telemetry.add, progress)
            measured = {
                "total_s": result.total_s,
                "highest_load_messages": result.highest_load,
                "consumed": result.consumed,
            }
        return ServiceOutcome(self._headline(measured), measured, judge(scenario, measured))

    def _headline(self, measured: dict[str, Any]) -> str:
        scenario = self.scenario
        load = measured.get("highest_load_messages")
        highest = "" if load is None else f"; a queue held {load:,.0f} at the most"
        return (
            f"{scenario.messages:,} messages at {scenario.production_msgs_per_s:g}/s were consumed "
            f"after {measured['total_s']:.1f} s under {scenario.policy.name}{highest}"
        )


def prepare(source: Source, world: str, seed: int) -> QueueRun:
    """Read a scenario for a world; raises ``ScenarioError``.

    The network runs it compressed in time (docs/papers/store-and-forward.md).
    """
    scenario = read_as(source, QueueScenario)
    return QueueRun(scenario if world == "sim" else scenario.compressed(COMPRESSED), world, seed)


def judge(scenario: QueueScenario, measured: dict[str, Any]) -> list[Verdict]:
    """The verdicts on the scenario's expectations."""
    expect = scenario.expect
    verdicts = []
    for what, name, most in (
        ("total reception time (s)", "total_s", expect.total_s_at_most),
        ("highest load (messages)", "highest_load_messages", expect.highest_load_at_most),
    ):
        if most is not None:
            value = measured[name]
            verdicts.append(Verdict(what, f"≤ {most:g}", value, value <= most))
    if expect.total_s_at_least is not None:
        least, value = expect.total_s_at_least, measured["total_s"]
        held = value >= least
        verdicts.append(Verdict("total reception time (s)", f"≥ {least:g}", value, held))
    return verdicts
