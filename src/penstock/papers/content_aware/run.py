"""``penstock run`` for the scenario files of the datagram service.

A file about pairs that share a bottleneck runs in both worlds; one with a TCP connection, and one
about many brokers, only in the simulator (TCP beside live brokers needs network namespaces, which
``penstock papers --service datagram --world net`` creates).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from penstock.lab.scenario.expectations import Verdict
from penstock.lab.scenario.file import ScenarioError
from penstock.lab.service_runs import Progress, ScenarioRun, ServiceOutcome, Source, read_as
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.content_aware.large import LargeScenario, LargeSimulation
from penstock.papers.content_aware.live import COMPRESSED_USUALLY, run_live
from penstock.papers.content_aware.measures import capacity_messages
from penstock.papers.content_aware.scenario import DatagramScenario, Expectations
from penstock.papers.content_aware.simulation import simulate

MEASURES: Final = {
    "received_messages": "messages that arrived",
    "lost_messages": "wanted messages that were sent and did not arrive",
    "utilisation": "the share of the link's capacity that arrived, or that the link carried if "
    "TCP shares it",
}
LARGE_MEASURES: Final = {
    "lost_part": "the share of the deliveries behind the bottleneck that failed",
    "received_messages": "messages that arrived behind the bottleneck",
    "utilisation": "the used share of the bottleneck",
    "mean_delay_s": "mean delay of a message",
}


class PairsRun(ScenarioRun[DatagramScenario], frozen=True):
    """Publishers and subscribers on both sides of a bottleneck."""

    @property
    def measures(self) -> Mapping[str, str]:
        rates = {
            f"rates_msgs_per_s.{number}": f"the rate that subscriber {number + 1} received"
            for number in range(len(self.scenario.pairs))
        }
        return MEASURES | rates | ({"tcp_part": "TCP's part"} if self.scenario.tcp else {})

    def run(self, telemetry: Telemetry, progress: Progress) -> ServiceOutcome:
        """Run and judge it."""
        scenario, policy = self.scenario, self.scenario.policy
        if self.world == "net":
            with TemporaryDirectory(prefix="penstock-datagram-") as directory:
                live = run_live(scenario, policy, Path(directory))
            received, lost = live.received_messages, live.missed_messages
            arrived = [sum(pair.received) for pair in live.pairs]
            measured: dict[str, Any] = {"utilisation": received / capacity_messages(scenario)}
        else:
            result = simulate(scenario, policy, self.seed)
            received, lost = result.received_messages, result.missed_messages
            arrived = [pair.received_messages for pair in result.pairs]
            carried = sum(result.carried_bytes) / scenario.message_bytes
            measured = {"utilisation": carried / capacity_messages(scenario)}
            if scenario.tcp is not None:
                since_s = scenario.tcp.start_s
                tcp = result.tcp_bytes_per_s(since_s, scenario.duration_s)
                all_of_it = result.carried_bytes_per_s(since_s, scenario.duration_s)
                measured["tcp_part"] = tcp / all_of_it
        progress(scenario.duration_s)
        measured["received_messages"], measured["lost_messages"] = received, lost
        measured["rates_msgs_per_s"] = [count / scenario.duration_s for count in arrived]
        headline = (
            f"under {policy.name} {received:,} messages arrived and {lost:,} were lost; "
            f"{measured['utilisation']:.1%} of the link was used"
        )
        return ServiceOutcome(headline, measured, judge(scenario.expect, measured))


class LargeNetworkRun(ScenarioRun[LargeScenario], frozen=True):
    """Many brokers and clients, in the simulator."""

    @property
    def measures(self) -> Mapping[str, str]:
        return LARGE_MEASURES

    def run(self, telemetry: Telemetry, progress: Progress) -> ServiceOutcome:
        """Run it."""
        policy = self.scenario.policy
        result = LargeSimulation(self.scenario, policy, self.seed).run()
        progress(self.scenario.duration_s)
        measured = {
            "lost_part": result.missed_part(),
            "received_messages": result.received_messages,
            "utilisation": result.utilisation,
            "mean_delay_s": result.mean_delay_s,
        }
        headline = (
            f"under {policy.name} {result.received_messages:,} messages arrived behind the "
            f"bottleneck, {measured['lost_part']:.1%} of them were lost on the way, and a message "
            f"took {1000 * result.mean_delay_s:.0f} ms"
        )
        return ServiceOutcome(headline, measured, [])


def prepare(source: Source, world: str, seed: int) -> PairsRun | LargeNetworkRun:
    """Read a scenario for a world; raises ``ScenarioError``.

    The network runs it compressed in time (docs/papers/content-aware.md).
    """
    if _is_large(source):
        large = LargeNetworkRun(read_as(source, LargeScenario), "sim", seed)
        if world == "net":
            raise ScenarioError(f"{large.name}: a scenario with links runs only with --world sim")
        return large
    scenario = read_as(source, DatagramScenario)
    if world == "sim":
        return PairsRun(scenario, world, seed)
    if scenario.tcp is not None:
        raise ScenarioError(
            f"{scenario.name}: a scenario with a TCP connection runs only with --world sim; "
            "`penstock papers --service datagram --world net` runs one beside the kernel's own TCP"
        )
    return PairsRun(scenario.compressed(COMPRESSED_USUALLY), world, seed)


def _is_large(source: Source) -> bool:
    if not isinstance(source, Path):
        return "links" in source
    try:
        return "links" in tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # ``read_as`` reports the error.
        return False


def judge(expect: Expectations, measured: dict[str, Any]) -> list[Verdict]:
    """The verdicts on the scenario's expectations."""
    verdicts = []
    most, lost = expect.lost_messages_at_most, measured["lost_messages"]
    if most is not None:
        verdicts.append(Verdict("lost messages", f"≤ {most:g}", lost, lost <= most))
    least, used = expect.utilisation_at_least, measured["utilisation"]
    if least is not None:
        verdicts.append(Verdict("use of the link", f"≥ {least:g}", used, used >= least))
    return verdicts
