"""The parameters of PDCC and SDCC: Table 1 of the paper, and what its text leaves open."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from penstock.core.clock import MILLISECOND, SECOND, Duration

Positive = Annotated[int, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Rate = Annotated[float, msgspec.Meta(gt=0)]


class CongestionParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each with its name in Table 1, or the section that it belongs to."""

    law: Literal["paper", "improved"] = "improved"
    pdcc: bool = True
    """Publisher-hosting-broker-driven control (Section 3.1): shapes publishers."""
    sdcc: bool = True
    """Subscriber-hosting-broker-driven control (Section 3.2): paces recovery."""

    query_interval_ns: Positive = 1 * SECOND
    """How often a pubend sends a congestion query (Section 3.1)."""
    no_alert_interval_ns: Positive = 2 * SECOND
    """t_nouca: without alerts for this long, the rate may rise."""
    increase_min_msgs_per_s: Rate = 2.0
    """r_min: the least increase."""
    increase_share: Share = 0.05
    """f_incr: the share of what was gained since the last decrease."""
    decrease: Share = 0.5
    """f_decr1: what is left after a decrease."""
    decrease_gentle: Share = 0.25
    """f_decr2: what is kept of the gain in a first decrease."""
    floor_msgs_per_s: Rate = 1.0
    """The rate of a pubend never falls below this."""

    alpha: Share = 0.1
    """α: smoothing of the doubt-horizon rate, for each sample."""
    sample_interval_ns: Positive = 100 * MILLISECOND
    """How often the doubt-horizon rate is sampled."""
    nonrecovering_threshold: Share = 0.05
    """Δt_nonrec: a live edge alerts below 1 minus this (tick seconds a second)."""
    recovering_threshold: float = 1.0
    """Δt_rec: a recovering edge alerts below 1 plus this (tick seconds a second)."""
    lag_threshold_ns: Positive = 4 * SECOND
    """Δt_s: a live edge alerts when it is this far behind the pubend."""
    recovering_memory_ns: Positive = 2 * SECOND
    """An edge is recovering while it ignored live knowledge within this time."""

    nack_window_initial_ns: Positive = 100 * MILLISECOND
    """nwnd₀: the NACK window at the start of a recovery."""
    nack_increase: Share = 0.1
    """α_NACK: the window opens when the recovery rate rose by this share."""
    nack_decrease: Share = 0.3
    """β_NACK: the window closes when the recovery rate fell by this share."""

    fair_links: bool = True
    """Links serve pubends in turn (part of the improved law)."""

    live_floor_share: Share = 0.1
    """The improved law leaves a pubend at least this share of its rate during a recovery."""
    drain_ns: Duration = 5 * SECOND
    """The improved law drains the lag of the slowest edge in this time."""
