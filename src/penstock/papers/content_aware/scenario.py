"""The experiments of the content-aware paper as scenario files.

A file defines the publishers and subscribers that share the bottleneck between two brokers (Figure
6), what each publishes, and how the bottleneck changes.  Its law and its detection apply to
``penstock run``; the papers' tables choose their own, so that every policy meets the same load.
Both worlds run the same file.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Literal

import msgspec

from penstock.services.datagram.parameters import DatagramParameters, Detection, Law
from penstock.sim.udp_workload import RatePoint

Positive = Annotated[float, msgspec.Meta(gt=0)]
PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
Part = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publisher, and the subscriber that wants a part of its messages."""

    matching: Part
    """The share of the publisher's messages that the subscriber wants."""
    rate_msgs_per_s: tuple[RatePoint, ...]
    """(second, rate): linear between the points."""


class BandwidthStep(msgspec.Struct, frozen=True, array_like=True):
    """The bandwidth of the bottleneck from this second on."""

    at_s: float
    kbps: Positive


class TcpFlow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TCP connection across the bottleneck."""

    start_s: float
    segment_bytes: PositiveInt


class Expectations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on the result; None means no bound."""

    lost_messages_at_most: float | None = None
    utilisation_at_least: float | None = None


class Policy(msgspec.Struct, frozen=True):
    """The law and the detection that the clients use."""

    name: str
    law: Law
    detection: Detection = "flow"

    def parameters(self, scenario: DatagramScenario) -> DatagramParameters:
        """The clients' settings."""
        return DatagramParameters(
            law=self.law, detection=self.detection, record_messages=scenario.record_messages
        )


UNCONTROLLED = Policy("no control", "none")
RECORDS = Policy("paper's law, records", "paper", "record")
FLOWS = Policy("paper's law, flow numbers", "paper", "flow")
IMPROVED = Policy("improved law", "improved", "flow")


def named(law: Law, detection: Detection) -> Policy:
    """The policy of a law and a detection, by its usual name."""
    for policy in (UNCONTROLLED, RECORDS, FLOWS, IMPROVED):
        if policy.law == law and (policy.detection == detection or law == "none"):
            return policy
    return Policy(f"{law} law, {detection}", law, detection)


class DatagramScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One experiment on the topology of Figure 6."""

    service: Literal["datagram"]
    name: str
    duration_s: Positive
    pairs: tuple[Pair, ...]
    bandwidth: tuple[BandwidthStep, ...]
    tcp: TcpFlow | None = None
    near_subscriber: bool = False
    """Whether a subscriber on the publishers' side wants what the first subscriber does not."""
    message_bytes: PositiveInt = 280
    """On the wire, with the 80 bytes of the congestion control header."""
    queue_messages: PositiveInt = 45
    latency_ms: Positive = 1.0
    jitter_ms: float = 4.0
    """Processing jitter on the path from each publisher to its broker, in order: without it the
    phases of the publishers decide whose messages find the queue full."""
    record_messages: Annotated[int, msgspec.Meta(ge=0, le=16)] = 2
    law: Law = "improved"
    detection: Detection = "flow"
    expect: Expectations = Expectations()

    @property
    def policy(self) -> Policy:
        """The policy of the clients of ``penstock run``."""
        return named(self.law, self.detection)

    def compressed(self, factor: float) -> DatagramScenario:
        """The scenario compressed in time by this factor, at the same rates."""
        return msgspec.structs.replace(
            self,
            duration_s=self.duration_s / factor,
            bandwidth=tuple(
                BandwidthStep(each.at_s / factor, each.kbps) for each in self.bandwidth
            ),
            pairs=tuple(
                Pair(
                    pair.matching,
                    tuple(
                        RatePoint(each.at_s / factor, each.msgs_per_s)
                        for each in pair.rate_msgs_per_s
                    ),
                )
                for pair in self.pairs
            ),
        )

    def capacity_msgs_per_s(self, at_s: float) -> float:
        """The capacity of the bottleneck at a time."""
        kbps = [step.kbps for step in self.bandwidth if step.at_s <= at_s][-1]
        return kbps * 1000 / 8 / self.message_bytes


def load(name: str) -> DatagramScenario:
    """One of the shipped files."""
    text = files("penstock.papers").joinpath("scenarios", f"datagram-{name}.toml").read_bytes()
    return msgspec.toml.decode(text, type=DatagramScenario)
