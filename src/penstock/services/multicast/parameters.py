"""What the multicast service can be told, and where each number comes from.

Sections are those of Amir, Awerbuch, Danilov and Stanton, "A Cost-Benefit Flow Control for
Reliable Multicast and Unicast in Overlay Networks".
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from penstock.core.clock import MILLISECOND, SECOND, Duration

Positive = Annotated[int, msgspec.Meta(gt=0)]
PositiveNumber = Annotated[float, msgspec.Meta(gt=0)]

Law: TypeAlias = Literal["paper", "improved"]
"""How links are priced and senders paced."""

Benefit: TypeAlias = Literal["throughput", "concave"]
"""What a sender's rate R is worth (Section IV-A): R itself, or √R, of which more is worth less."""


BenefitCounts: TypeAlias = Literal["sent", "received"]
"""Whether a sender's packets count once, or once for each member that receives them (Section I)."""


class PaperLaw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sections IV-B and VII: prices of buffers, salaries, and the lottery."""

    soft_limit_packets: Positive = 100
    """M: the buffer at which a link costs as much as anybody can save."""

    unacknowledged_packets: Annotated[int, msgspec.Meta(ge=0)] = 0
    """What of a link's buffer is not priced because the link's own protocol would hold it.  A link
    whose rate the broker limits holds nothing: there the paper's 20 unacknowledged packets must be
    given here, or the buffer of a single sender runs dry whenever its price falls to zero."""

    prohibitive_cost: PositiveNumber = 20.0
    """C_max, and S: what a client can save."""

    salary: PositiveNumber = 10.0
    processing_fee: PositiveNumber = 1.0
    """Δ: what a packet costs where nothing is congested."""

    threshold: PositiveNumber = 2.0
    """H: who bought nothing dearer than this is paid more often."""

    shortest_period_ns: Positive = 20 * MILLISECOND
    longest_period_ns: Positive = 250 * MILLISECOND
    """Bounds of the salary period, which the paper leaves open.  Without the upper one senders that
    start one after another starve: their periods double without end."""

    lottery_ns: Positive = 40 * MILLISECOND
    """Whoever lost the draw for a packet draws again after so long, or at the next price."""

    randomised: bool = True
    """Whether there is a lottery (Section IV-B.7)."""


class ImprovedLaw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices from what the arriving packets paid (docs/papers/cost-benefit.md)."""

    target_packets: PositiveNumber = 15.0
    """What should wait on a congested link.  Enough that the link never runs dry between two price
    updates, a seventh of the paper's soft limit."""

    longest_target_ns: Positive = 200 * MILLISECOND
    """On a thin link, only what the link carries in this time should wait: four price updates.
    There 15 packets would delay every message by more than a second."""

    drain_loops: PositiveNumber = 4.0
    """A buffer above the target is worked off within so many feedback delays.  Every update of one
    delay sees the same excess and asks for its removal, so fewer would ask too often."""

    shortest_drain_ns: Positive = 400 * MILLISECOND
    """At least so long, or the noise of the few packets of one update would be chased."""

    first_rate_packets_per_s: PositiveNumber = 2.0
    """What a new sender begins with.  Eight hundred of them that begin at once send 130 packets
    before the first price can reach them."""

    highest_rate_packets_per_s: PositiveNumber = 1_000_000.0
    """A gigabyte a second, more than a broker carries."""

    burst_packets: PositiveNumber = 2.0
    """What an idle sender may save up."""


class MulticastParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The service at one broker."""

    law: Law = "improved"
    benefit: Benefit = "throughput"
    benefit_counts: BenefitCounts = "sent"
    """With ``received`` a packet for n members is worth n times as much, so its sender accepts a
    price n times as high.  This prefers large groups to small ones on a full link."""

    highest_weight: PositiveNumber = 1.0
    """A sender may ask for up to so many times the rate of a sender of weight 1.  With 1 all are
    worth the same: a weight is worth something only if not everybody can take it."""

    paper: PaperLaw = PaperLaw()
    improved: ImprovedLaw = ImprovedLaw()
    packet_bytes: Positive = 1000
    """What is priced: a message of n bytes counts as n / 1000 packets."""

    update_min_ns: Duration = 50 * MILLISECOND
    """T_min: how often the price of a congested link is told (Section V-B)."""

    update_max_ns: Duration = 2500 * MILLISECOND
    """T_max: how often the price of any other link is told."""

    ride_wait_ns: Annotated[int, msgspec.Meta(ge=0)] = 10 * MILLISECOND
    """How long a price waits for a message to ride on, where one is expected: as long as one hop
    takes in the paper's networks, and a fifth of T_min.  0 sends every price alone."""

    window_bytes: Positive = 8 << 20
    """What the senders of one broker may have under way and not confirmed by every receiving
    broker; a sender waits when it is full.  A second of 67 Mbit/s."""

    waiting_bytes: Positive = 4 << 20
    """What one sender's messages may take up while they wait to be bought.  Four times what the
    client library sends without receipts: only a client that does not wait for them is refused."""

    session_window_bytes: Positive = 4 << 20
    """What a member may have under way to it and not taken.  Whoever lets more pile up holds the
    senders of its groups back, until ``slow_reader_ns``."""

    slow_reader_ns: Positive = 10 * SECOND
    """A member that takes nothing for so long while its window is full is disconnected: one reader
    must not stop a group."""

    max_name_bytes: Positive = 255
    """Length of a group's or a client's name."""

    max_groups_per_client: Positive = 1000
    max_members: Positive = 100_000
    """Memberships of clients of one broker: the membership of every broker is known to all."""

    max_groups_per_message: Positive = 64
    """How many groups one message may be for."""

    departure_ns: Positive = 10 * SECOND
    """The members at a broker that cannot be reached for so long have left; until then their
    messages are kept, which fills the window of whoever sends to them."""

    max_senders_per_client: Positive = 1_000
    max_senders: Positive = 100_000
    """Senders of clients of one broker."""
