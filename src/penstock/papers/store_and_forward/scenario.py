"""The three flow-control runs of "Scalable Store and Forward Messaging" as scenario files.

A file defines the producers, the consumers and their rates.  The papers' table runs it under every
policy, so that all of them meet the same load; ``penstock run`` uses the policy that the file
names.  Both worlds run the same file: the simulator at full length, the network compressed in time.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Final, Literal

import msgspec

from penstock.core.clock import SECOND
from penstock.services.queues.parameters import AliasConfig, Balancing, Law

Positive = Annotated[int, msgspec.Meta(gt=0)]
PositiveNumber = Annotated[float, msgspec.Meta(gt=0)]


SHARED_MACHINE_S: Final = 1.0
"""A run in compressed time may take this much longer than its share of the full time: its processes
share the cores of one machine, and their delays are not compressed."""


class Expectations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on the result; None means no bound."""

    total_s_at_most: float | None = None
    total_s_at_least: float | None = None
    highest_load_at_most: float | None = None
    """The largest number of messages in a queue; measured in the simulator only."""

    def compressed(self, factor: float) -> Expectations:
        """The bounds in time compressed by this factor."""
        most, least = self.total_s_at_most, self.total_s_at_least
        return Expectations(
            None if most is None else most / factor + SHARED_MACHINE_S,
            None if least is None else least / factor,
        )


class QueueScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of the paper's configurations: one producer for each alias queue, two consumers."""

    service: Literal["queues"]
    name: str
    messages: Positive
    payload_bytes: Positive
    production_msgs_per_s: PositiveNumber
    alias_queues: Positive
    consumer_shares: tuple[float, float]
    """The share of the production that each queue's consumer can process."""
    inverted_at_s: float | None = None
    """When the two consumers exchange their shares, if they do."""
    give_up_s: PositiveNumber
    balancing: Balancing = "flow-control"
    law: Law = "improved"
    first_period_s: PositiveNumber | None = None
    """Until the first regulation; by default 10 s under the paper's law, 1 s under ours."""
    expect: Expectations = Expectations()

    @property
    def duration_s(self) -> float:
        """The duration of the production."""
        return self.messages / self.production_msgs_per_s

    @property
    def policy(self) -> Policy:
        """How the alias queues distribute messages."""
        name = f"{self.law} law" if self.balancing == "flow-control" else self.balancing
        return Policy(name, self.balancing, self.law, self.first_period_s)

    def rate_msgs_per_s(self, consumer: int, at_s: float) -> float:
        """The rate of a consumer at a time."""
        inverted = self.inverted_at_s is not None and at_s >= self.inverted_at_s
        share = self.consumer_shares[1 - consumer if inverted else consumer]
        return self.production_msgs_per_s * share

    def compressed(self, factor: float) -> QueueScenario:
        """The scenario compressed in time by this factor, at the same rates."""
        return msgspec.structs.replace(
            self,
            messages=round(self.messages / factor),
            inverted_at_s=None if self.inverted_at_s is None else self.inverted_at_s / factor,
            give_up_s=self.give_up_s / factor,
            expect=self.expect.compressed(factor),
        )


def load(name: str) -> QueueScenario:
    """One of the shipped files."""
    text = files("penstock.papers").joinpath("scenarios", f"{name}.toml").read_bytes()
    return msgspec.toml.decode(text, type=QueueScenario)


BALANCED: Final = "queues-balanced"
UNBALANCED: Final = "queues-unbalanced"
INVERTED: Final = "queues-inverted"


QUICKEST_LOOP: Final = 4.0


class Policy(msgspec.Struct, frozen=True):
    """How the alias queues distribute messages."""

    name: str
    balancing: Balancing = "flow-control"
    law: Law = "paper"
    first_period_s: float | None = None

    def alias(self, destinations: tuple[str, ...], compressed: float = 1.0) -> AliasConfig:
        """An alias queue with this policy.

        In compressed time the first period and MAX_LOAD are smaller by that factor.  The control
        loop runs at most ``QUICKEST_LOOP`` times faster, with that many times the overhead: rates
        that are measured over less than half a second are mostly noise.
        """
        usual_s = 10.0 if self.law == "paper" else 1.0
        first_s = usual_s if self.first_period_s is None else self.first_period_s
        return AliasConfig(
            "orders",
            destinations,
            balancing=self.balancing,
            law=self.law,
            first_period_ns=round(first_s / compressed * SECOND),
            overhead=0.001 * min(compressed, QUICKEST_LOOP),
            max_load_messages=round(3000 / compressed),
        )


ROUND_ROBIN: Final = Policy("round-robin", "round-robin")
PAPER: Final = Policy("paper's law")
IMPROVED: Final = Policy("improved law", law="improved", first_period_s=10.0)
IMPROVED_QUICK: Final = Policy("improved law, 1 s first", law="improved")
