"""The parameters of the guaranteed service, with where each comes from.

Sections and Table 1 are those of Pietzuch and Bhola, "Congestion Control in a Reliable Scalable
Message-Oriented Middleware".
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from penstock.core.clock import HOUR, MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_law import congestion_law
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters

Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class GuaranteedParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be set; durations are nanoseconds."""

    silence_interval_ns: Positive = 1000 * MILLISECOND
    """t_silence of Table 1: after this time without publications a pubend sends silence."""

    congestion: CongestionParameters = CongestionParameters()
    """PDCC and SDCC."""

    receive_window_ns: Positive = 10 * SECOND
    """Ticks above the doubt horizon that an edge keeps (Section 4): bounds its memory."""

    receive_window_bytes: Positive = 64 << 20
    """The same bound in bytes, for streams that are dense."""

    nack_unit_ns: Positive = 100 * MILLISECOND
    """size_NACK of Table 1: the smallest piece that is requested."""

    nack_timeout_min_ns: Positive = 600 * MILLISECOND
    nack_timeout_max_ns: Positive = 30 * SECOND
    nack_timeout_initial_ns: Positive = 1 * SECOND
    """A request is repeated after srtt + 4·var within these bounds, doubling up to eightfold."""

    nack_suppression_ns: Positive = 500 * MILLISECOND
    """A relay forwards a request for the same ticks at most this often."""

    relay_cache_bytes: Positive = 1 << 20
    """Live data that a relay caches to answer requests by itself (Section 1.1)."""

    relay_answers_bytes: NotNegative = 4 << 20
    """Answers to recovering edges that a relay keeps of each stream, for other edges that recover
    from the same outage (improved law): half a minute of a recovery at 125 kB/s, so that one which
    comes back that much later can still follow."""

    answer_bytes: Positive = 1 << 20
    """The most that a pubend reads from its log for one request."""

    answer_frames: Positive = 64
    """The same in frames, for subscribers that read the past, and the most that is delivered to one
    of them in one turn.  A frame costs a broker about 50 µs however small it is, so others wait
    some 3 ms; frames of a busy stream fill ``answer_bytes`` sooner."""

    acknowledge_interval_ns: Positive = 1 * SECOND
    """How often an edge states its claims to the sources."""

    hold_expiry_ns: Positive = 60 * SECOND
    """How long the live claim of an edge outlives its last statement."""

    durable_hold_expiry_ns: NotNegative = 0
    """How long a durable subscription without a reader holds the logs; 0 is for ever.  After that
    only its position is kept, and a reader that comes back is told what was trimmed as lost."""

    cursor_holds_ns: Positive = 7 * 24 * HOUR
    """How far back a cursor holds the logs at most: an abandoned job must not hold them for ever,
    and a job that was stopped over a week-end and a holiday finds everything."""

    retain_for_ns: Positive = 24 * HOUR
    retain_bytes: Positive = 1 << 30
    """Acknowledged messages stay for replay until they are this old or the log is this large."""

    log_limit_bytes: Positive = 16 << 30
    """A log of this size that may not be trimmed refuses publications."""

    producer_limit: Positive = 100_000
    """How many producers' sequence numbers a pubend remembers; the idlest is forgotten."""

    producer_checkpoint_ns: Positive = 10 * SECOND
    """How often the table of producers is saved; a restart reads the log from there on."""

    staging_limit_bytes: Positive = 4 << 30
    """Bytes of staged rows that may wait for their commit; more is refused."""

    stage_expiry_ns: Positive = 1 * HOUR
    """How long staged rows wait for their commit: longer than a batch takes, shorter than a day."""

    sink_limit: Positive = 10_000
    """How many sinks' last epochs a broker remembers; further sinks are refused."""

    submit_limit_bytes: Positive = 64 << 20
    """Published bytes of one pubend that may wait for the disk; more is refused."""

    session_buffer_bytes: Positive = 16 << 20
    """What the edge buffers for a subscriber beyond its window; a subscriber that lets more wait
    gets the rest from the log, at its own pace.  It is 40 ms of 400,000 messages of 1 kB a second;
    with a quarter of that, batches of 1 kB passed a sixth more slowly."""

    producers_per_session: Positive = 1_000
    """Publishers of one connection.  The client shares one among all its calls."""

    stage_limit: Positive = 100_000
    """Stages of all sinks that may wait for their commit."""

    subscriptions_per_session: Positive = 10_000
    durable_subscriptions: Positive = 100_000
    """Bounds on what clients can make a broker remember."""

    @property
    def links_are_fair(self) -> bool:
        """Whether pubends take turns on a link."""
        return congestion_law(self.congestion).links_are_fair

    @property
    def kept_answers_bytes(self) -> int:
        """``relay_answers_bytes`` if the law keeps answers at relays at all."""
        kept = congestion_law(self.congestion).relays_keep_answers
        return self.relay_answers_bytes if kept else 0

    @property
    def local_answer_bytes(self) -> int:
        """``answer_bytes`` for a reader at the broker that hosts the pubend.

        No link has to carry it, and fewer, larger reads cost the broker less for the same bytes.
        """
        return 2 * self.answer_bytes
