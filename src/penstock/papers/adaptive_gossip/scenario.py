"""The TOML format of a gossip scenario, and the result of a run.

The same scenario runs in virtual time (group.py), over UDP (live.py) and, if it is only about rates
and all buffers have one size, as arrays (at_scale.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from penstock.core.clock import in_seconds
from penstock.services.gossip.parameters import GossipParameters, Positive, PositiveFloat, Share


class BufferChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From a round on, a share of the peers has buffers of this size."""

    at_round: int
    share: Share
    buffer_events: Positive


class Churn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Between two rounds a share of the peers leaves, evenly spread, and as many join.

    Every second peer that leaves says goodbye; the others crash.
    """

    from_round: int
    to_round: int
    share: Share


class Expectations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on the result; None means no bound."""

    receivers_at_least: float | None = None
    receivers_at_most: float | None = None
    input_rate_at_least: float | None = None
    atomic_at_least: float | None = None


class GossipScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group, its load, its changes, and the measured rounds."""

    name: str
    purpose: str
    parameters: GossipParameters
    peers: Positive = 60
    senders: int = 0
    """The number of publishing peers; 0 means all."""
    offered_msgs_per_s: float = 30.0
    """By all senders together; a sender with a waiting publication offers no more."""
    payload_bytes: int = 16
    rounds: Positive = 300
    warm_up_rounds: int = 100
    """Events published before are not measured."""
    settle_rounds: int = 20
    """Events published in the last rounds are not measured: they have not had time to spread."""
    changes: tuple[BufferChange, ...] = ()
    churn: Churn | None = None
    loss: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    expect: Expectations = Expectations()
    live_period_s: PositiveFloat = 0.1
    """Duration of a round in the network world, unless the period is shorter.  100 ms is the
    shortest for which 60 peers need about half a core; a busy machine skips such rounds, and a
    longer one gives more reliable results."""
    service: Literal["gossip"] = "gossip"
    """Lets `penstock run` recognise the service of a file."""

    @property
    def sender_count(self) -> int:
        """How many peers publish."""
        return min(self.senders or self.peers, self.peers)

    @property
    def duration_s(self) -> float:
        """The duration on its own clock."""
        return self.rounds * self.period_s

    @property
    def period_s(self) -> float:
        """The gossip period T."""
        return in_seconds(self.parameters.gossip_period_ns)


class GossipResult(msgspec.Struct, frozen=True):
    """The measurements between warm-up and settling, and round by round."""

    seed: int
    input_rate_msgs_per_s: float
    allowed_rate_msgs_per_s: float
    output_rate_msgs_per_s: float
    """Input times the share of receivers."""
    receivers: float
    """The share of the peers that received an event, on average."""
    atomic: float
    """The share of the events that reached at least 95 % of the peers."""
    drop_age: float
    """The average age of the events that full buffers dropped."""
    group_size: float
    """The peers' estimate of the group's size."""
    allowed_by_round: tuple[float, ...] = ()
    input_by_round: tuple[float, ...] = ()
    receivers_by_round: tuple[float, ...] = ()
    atomic_by_round: tuple[float, ...] = ()


ATOMIC_SHARE = 0.95
"""*Atomic* means delivered to at least this share of the peers (Section 4)."""
