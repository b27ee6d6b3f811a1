"""What can be set for the datagram service at a client; brokers only forward and have no settings.

``law`` is "paper" (losses alone), "improved" (the queueing delay, before anything is lost) or
"none" (no control at all, for comparison).  ``detection`` is "record" (the paper's publication
records alone) or "flow" (sequence numbers of controlled flows beside them).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from penstock.core.clock import MILLISECOND, SECOND

Law: TypeAlias = Literal["paper", "improved", "none"]
Detection: TypeAlias = Literal["record", "flow"]

PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class DatagramParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of one client; the defaults are the ones that the documents' figures are of."""

    law: Law = "improved"
    detection: Detection = "flow"

    increase_limit: Share = 0.5
    """The paper's α: a quota rises by at most this part of the reception rate at once (Section
    III-B 5 recommends 0.5 to 1)."""

    report_interval_ns: PositiveInt = 50 * MILLISECOND
    """A subscriber decides and reports once in a round trip, and not more often than this."""

    record_messages: Annotated[int, msgspec.Meta(ge=0, le=16)] = 2
    """The paper's k: how many earlier messages a publication's record describes, 32 bytes each."""

    echo_interval_ns: PositiveInt = 30 * SECOND
    """The round trip is measured anew this often: clocks that drift apart by 50 ppm falsify the
    one-way delays by 1.5 ms meanwhile."""

    stale_after_ns: PositiveInt = 2 * SECOND
    """A flow whose limiting receiver is silent for so long is handed over or loosened."""

    quota_floor_msgs_per_s: Positive = 0.1
    """No report holds a flow below this: what a forged or broken report can do has a bound."""

    queue_messages: PositiveInt = 50
    """How many publications may wait for the tokens of one flow."""

    max_flows: PositiveInt = 1024
    """Flows that a publisher controls at once; further reports change nothing."""

    max_flows_of_receiver: PositiveInt = 64
    """Flows that a single receiver may have in a publisher's table."""

    datagram_bytes: Annotated[int, msgspec.Meta(ge=512, le=65_000)] = 1400
    """No datagram is larger: it passes an Ethernet link in one piece, with room for tunnels."""
