"""What a gossip run consists of, as a TOML file says it, and what a run measures.

The same scenario runs in virtual time (gossip_group.py), over UDP (gossip_live.py) and, when it is
only about rates and all buffers are alike, as arrays (gossip_at_scale.py).
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

    Every other one of those that leave says farewell; the rest crash.
    """

    from_round: int
    to_round: int
    share: Share


class Expectations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on what the run measures; None demands nothing."""

    receivers_at_least: float | None = None
    receivers_at_most: float | None = None
    input_rate_at_least: float | None = None
    atomic_at_least: float | None = None


class GossipScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group, its load, what happens to it, and when it is measured."""

    name: str
    purpose: str
    parameters: GossipParameters
    peers: Positive = 60
    senders: int = 0
    """How many of the peers publish; 0 is all of them."""
    offered_msgs_per_s: float = 30.0
    """By all senders together; a sender whose publication waits offers nothing more."""
    payload_bytes: int = 16
    rounds: Positive = 300
    warm_up_rounds: int = 100
    """What is published before is not measured."""
    settle_rounds: int = 20
    """Nor is what is published in the last rounds, which has not had its time to spread."""
    changes: tuple[BufferChange, ...] = ()
    churn: Churn | None = None
    loss: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    expect: Expectations = Expectations()
    live_period_s: PositiveFloat = 0.1
    """How long a round takes in the network world, unless the period is shorter.  100 ms are the
    shortest for which 60 peers need about half a core; a busy machine misses such rounds, and a
    longer one tells more."""
    service: Literal["gossip"] = "gossip"
    """How `penstock run` knows whose scenario a file is."""

    @property
    def sender_count(self) -> int:
        """How many peers publish."""
        return min(self.senders or self.peers, self.peers)

    @property
    def duration_s(self) -> float:
        """How long it takes on its own clock."""
        return self.rounds * self.period_s

    @property
    def period_s(self) -> float:
        """The gossip period T."""
        return in_seconds(self.parameters.gossip_period_ns)


class GossipResult(msgspec.Struct, frozen=True):
    """What a run measured between warm-up and settling, and round by round."""

    seed: int
    input_rate_msgs_per_s: float
    allowed_rate_msgs_per_s: float
    output_rate_msgs_per_s: float
    """Input times the share of receivers."""
    receivers: float
    """Which share of the peers received an event, on average."""
    atomic: float
    """Which share of the events reached at least 95 % of the peers."""
    drop_age: float
    """The average age of the events that buffers had no room for."""
    group_size: float
    """What a peer takes the group's size for."""
    allowed_by_round: tuple[float, ...] = ()
    input_by_round: tuple[float, ...] = ()
    receivers_by_round: tuple[float, ...] = ()
    atomic_by_round: tuple[float, ...] = ()


ATOMIC_SHARE = 0.95
"""*Atomic* means delivered to at least this share of the peers (Section 4)."""
