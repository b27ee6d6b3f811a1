"""``penstock run`` for the scenario files of the multicast service, in either world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from penstock.lab.scenario.expectations import Verdict
from penstock.lab.service_runs import Progress, ScenarioRun, ServiceOutcome, Source, read_as
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.cost_benefit.live import Rates, run_live
from penstock.papers.cost_benefit.machines import run_machines
from penstock.papers.cost_benefit.scenario import MulticastScenario
from penstock.services.multicast.parameters import MulticastParameters

MEASURES: Final = {
    "total_mbit_per_s": "the rate of all senders",
    "jain": "Jain's index of the senders' rates",
    "highest_buffer_packets": "the highest buffer of a link",
    "start_up_buffer_packets": "the same during the warm-up",
}


class MulticastRun(ScenarioRun[MulticastScenario], frozen=True):
    """A scenario as a world runs it."""

    @property
    def measures(self) -> Mapping[str, str]:
        senders = self.scenario.senders
        return MEASURES | {
            f"classes_mbit_per_s.{each.name}": f"the rate of the clients {each.name}"
            for each in senders
        }

    def run(self, telemetry: Telemetry, progress: Progress) -> ServiceOutcome:
        """Run and judge it."""
        scenario = self.scenario
        if self.world == "net":
            with TemporaryDirectory(prefix="penstock-multicast-") as directory:
                rates = run_live(scenario, scenario.law, Path(directory))
            measured = _measured(rates)
        else:
            parameters = MulticastParameters(law=scenario.law)
            result = run_machines(
                scenario, parameters, self.seed, on_trace=telemetry.add, progress=progress
            )
            measured = {
                **_measured(result.clients_mbit_per_s),
                "jain": result.jain,
                "highest_buffer_packets": result.highest,
                "start_up_buffer_packets": result.start_up_buffer,
            }
        return ServiceOutcome(self._headline(measured), measured, judge(scenario, measured))

    def _headline(self, measured: dict[str, Any]) -> str:
        classes = ", ".join(
            f"{name} {rate:.3f}" for name, rate in measured["classes_mbit_per_s"].items()
        )
        highest = measured.get("highest_buffer_packets")
        waited = "" if highest is None else f"; at most {highest:.0f} packets waited on a link"
        return f"under the {self.scenario.law} law the senders sent, in Mbit/s: {classes}{waited}"


def _measured(rates: Rates) -> dict[str, Any]:
    classes = {name: sum(each) for name, each in rates.items()}
    return {"total_mbit_per_s": sum(classes.values()), "classes_mbit_per_s": classes}


def prepare(source: Source, world: str, seed: int) -> MulticastRun:
    """Read a scenario for a world; raises ``ScenarioError``."""
    return MulticastRun(read_as(source, MulticastScenario), world, seed)


def judge(scenario: MulticastScenario, measured: dict[str, Any]) -> list[Verdict]:
    """The verdicts on the scenario's expectations; only the simulator sees buffers."""
    expect = scenario.expect
    verdicts = []
    least = expect.total_mbit_per_s_at_least
    if least is not None:
        total = measured["total_mbit_per_s"]
        verdicts.append(Verdict("all senders (Mbit/s)", f"≥ {least:g}", total, total >= least))
    most, highest = expect.highest_buffer_at_most, measured.get("highest_buffer_packets")
    if most is not None and highest is not None:
        verdicts.append(
            Verdict("highest buffer (packets)", f"≤ {most:g}", highest, highest <= most)
        )
    return verdicts
