"""The parameters of the gossip service, with where each comes from.

Sections and figures are those of Rodrigues, Handurukande, Pereira, Guerraoui and Kermarrec,
"Adaptive Gossip-Based Broadcast"; lpbcast is Eugster et al., "Lightweight Probabilistic
Broadcast".
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from penstock.core.clock import SECOND, in_seconds, seconds

Positive = Annotated[int, msgspec.Meta(gt=0)]
PositiveFloat = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

Law: TypeAlias = Literal["none", "paper", "improved"]
"""How the senders adapt: not at all (plain lpbcast), as the paper says, or better."""

Marks: TypeAlias = Literal["fixed", "by size"]
"""Whether the low and high age marks are the paper's numbers or follow the group's size."""

OLDEST_AGE: Final = 255
"""Ages travel as one byte each."""


SHORTEST_PERIOD_S: Final = 0.001
"""Nothing is divided by a period that is refused anyway."""


class AdaptationParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Figure 5 and Section 3.4, and below them what the improved law adds."""

    sample_period_rounds: Positive = 2
    """S in gossip periods.  The experiments use 2; when a single peer may hold the minimum it
    should be the critical age (Section 3.4)."""

    periods_kept: Positive = 2
    """Δ: how many sample periods the minimum buffer is taken over."""

    poorest_rank: Annotated[int, msgspec.Meta(gt=0, le=8)] = 1
    """Adapt to the n-th smallest buffer (Section 6); 1 is the smallest.  Every gossip carries n."""

    smallest_believed_buffer: Positive = 10
    """A peer that announces less than this is counted as this: it bounds a forged minimum."""

    average_weight: Share = 0.8
    """α of both moving averages."""

    low_age_mark: PositiveFloat = 5.0
    high_age_mark: PositiveFloat = 7.0
    """L and H around the critical age of 5.3 hops that 60 peers have."""

    marks: Marks = "fixed"

    decrease: Share = 0.05
    """r_L.  The prose of Section 3.4 swaps the two names; Figure 5 (c) has them right."""

    increase: Share = 0.05
    """r_H."""

    increase_threshold: Share = 0.5
    """W: a sender raises its rate in a round only if a draw exceeds this."""

    bucket_tokens: Positive = 10
    """The most tokens that an idle sender saves up."""

    initial_rate_msgs_per_s: PositiveFloat = 0.5
    """Where a sender begins, and what one of 60 senders takes of 30 messages a second."""

    lowest_rate_msgs_per_s: PositiveFloat = 0.01
    highest_rate_msgs_per_s: PositiveFloat = 100_000.0
    """Bounds of the allowed rate.  Without the floor an idle sender would decay to zero, from
    which no multiplication leads back."""

    receipt_target: Share = 0.96
    """Improved law: the share of published events that a peer should receive, on average.  The
    paper's target is 95 %; the rest is a margin for the noise of the estimate and for the rounds
    that the law takes to follow a change.  Each percent costs 7 % of the rate."""

    def times(self, factor: float) -> AdaptationParameters:
        """The same with so many times the first and the lowest rate."""
        return msgspec.structs.replace(
            self,
            initial_rate_msgs_per_s=factor * self.initial_rate_msgs_per_s,
            lowest_rate_msgs_per_s=factor * self.lowest_rate_msgs_per_s,
        )


class GossipParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a peer can be told; durations are nanoseconds."""

    group: Annotated[str, msgspec.Meta(min_length=1, max_length=64)] = "default"
    """Peers hear only their own group.  The length is a bound on what every datagram carries."""

    law: Law = "improved"

    gossip_period_ns: Positive = 5 * SECOND
    """T (Section 4)."""

    fanout: Positive = 4
    """f (Section 4): how many members each round's gossip goes to."""

    buffer_events: Positive = 90
    """|events|m: how many events a peer keeps to pass them on."""

    known_events: Annotated[int, msgspec.Meta(ge=4096)] = 16_384
    """|eventIds|m: identifiers remembered to deliver once.  It must outlast an event's stay in
    the group: 16,384 are 100 rounds at 30 messages a second."""

    age_limit: Annotated[int, msgspec.Meta(gt=0, le=OLDEST_AGE)] = 30
    """k: an event is passed on no longer than this many rounds; three times the critical age of
    10,000 peers."""

    age_raise_limit: Positive = 8
    """By how much one arriving copy can raise an event's age: honest copies differ by less, and a
    forged age cannot have an event dropped at once."""

    view_size: Positive = 30
    """How many members a peer knows (lpbcast's l).  Twice what connects 10,000 peers."""

    view_exchange: Annotated[int, msgspec.Meta(gt=0, le=8)] = 8
    """How many of them each gossip names besides the sender."""

    forget_after_rounds: Positive = 40
    """A member that nobody has heard of for this long leaves the views."""

    departures_kept: Positive = 64
    departure_rounds: Positive = 20
    """How many departures a peer passes on, and for how long (lpbcast's unSubs)."""

    datagram_bytes: Annotated[int, msgspec.Meta(ge=1200, le=65_000)] = 1400
    """No datagram is larger: it fits an Ethernet frame with room for tunnels.  The longest header
    takes 1,200 bytes, which every IPv6 network carries."""

    datagrams_per_source: Positive = 256
    """How many datagrams of one source a peer reads in a round.  A round of 4,096 events of
    60 bytes are 200 datagrams."""

    sources_per_round: Positive = 1024
    """From how many sources; a hundred times what the fanout brings."""

    events_per_origin: Positive = 4096
    """How many new events of one origin a peer accepts in a round: a flood is cut here."""

    waiting_publications: Positive = 64
    """Publications that may wait for tokens; more are refused."""

    trace_every_rounds: Annotated[int, msgspec.Meta(ge=0)] = 1
    """How often a peer records what it measures of itself; 0 is never.  The 17
    records of a round are a few hundredths of what the round costs."""

    adaptation: AdaptationParameters = AdaptationParameters()

    def checked(self) -> GossipParameters:
        """The same; raises ``ValueError`` if one of them is out of its range."""
        try:
            return msgspec.convert(msgspec.to_builtins(self), GossipParameters)
        except msgspec.ValidationError as error:
            raise ValueError(f"group {self.group[:64]!r}: {error}") from None

    def with_period(self, period_s: float) -> GossipParameters:
        """The same for rounds of another length.

        A round carries as much as before, so the rates that a sender begins with and never falls
        below change with the number of rounds in a second.
        """
        faster = in_seconds(self.gossip_period_ns) / max(period_s, SHORTEST_PERIOD_S)
        return msgspec.structs.replace(
            self, gossip_period_ns=seconds(period_s), adaptation=self.adaptation.times(faster)
        )
