"""Numbers of the alias queue paper that are not measurements by themselves."""

from __future__ import annotations

from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure


def total_reception_s(result: RunResult) -> float:
    """Seconds from the start of production until the last message was consumed."""
    last_s = measure(result, Measurement(metric="consumed", aggregate="last_at_s"))
    clients = result.scenario.clients
    started_s: float = min(each.start_s for each in clients if each.role == "producer")
    return last_s - started_s


def throughput_msgs_per_s(result: RunResult) -> float:
    """Messages consumed in a second of that time."""
    return measure(result, Measurement(metric="consumed")) / total_reception_s(result)
