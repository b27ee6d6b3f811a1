"""Why a subscription is behind: the answer to ``penstock why SUBSCRIPTION``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.core.intervals import Tick
from penstock.services.guaranteed.edge.subscription import Subscription


class ReaderExplanation(msgspec.Struct, frozen=True):
    """One reader of a name; the readers of one program may share a name."""

    session: str
    slow: bool
    """Whether it left a live stream because it reads too slowly."""
    slow_for_s: float
    times_slow: int
    catching_up: list[str]
    behind_s: float
    """Its largest distance to the horizon of a live stream."""
    waiting_bytes: int
    under_way_bytes: int
    window_bytes: int
    cause: str


class SubscriptionExplanation(msgspec.Struct, frozen=True):
    """The readers of one subscription name at one broker."""

    subscription: str
    broker: str
    readers: list[ReaderExplanation]
    absent_for_s: float = 0.0
    """For how long a durable subscription has had no reader."""
    positions: dict[str, Tick] = {}
    """The tick from which on a durable subscription holds each log."""


def explain_subscription(
    readers: Sequence[Subscription], broker: str, horizons: Mapping[str, Tick], now: Instant
) -> bytes:
    """The explanation as JSON; ``horizons`` are those of the live streams."""
    explained = [explain_reader(each, horizons, now) for each in readers]
    return msgspec.json.encode(SubscriptionExplanation(readers[0].name, broker, explained))


def explain_absent(subscription: Subscription, broker: str, now: Instant) -> bytes:
    """The explanation of a durable subscription without a reader."""
    absent_for_s = in_seconds(now - subscription.absent_since)
    explanation = SubscriptionExplanation(
        subscription.name, broker, [], absent_for_s, dict(subscription.saved)
    )
    return msgspec.json.encode(explanation)


def explain_reader(
    reader: Subscription, horizons: Mapping[str, Tick], now: Instant
) -> ReaderExplanation:
    """One reader, and what holds it up."""
    behind = [
        horizons.get(pubend, 0) - stream.horizon for pubend, stream in reader.catching_up.items()
    ]
    return ReaderExplanation(
        session=reader.session or "",
        slow=reader.slow_since is not None,
        slow_for_s=0.0 if reader.slow_since is None else in_seconds(now - reader.slow_since),
        times_slow=reader.times_slow,
        catching_up=list(reader.catching_up),
        behind_s=in_seconds(max(0, *behind)) if behind else 0.0,
        waiting_bytes=reader.buffered_bytes,
        under_way_bytes=reader.under_way_bytes,
        window_bytes=reader.window_bytes,
        cause=_cause(reader),
    )


def _cause(reader: Subscription) -> str:
    if reader.slow_since is not None:
        return (
            "it reads more slowly than is published, so it is read for from the log at its own "
            "pace; read faster, or share the work between subscriptions with narrower selectors"
        )
    if reader.ends:
        return "it reads an interval of the past"
    if reader.catching_up:
        return "it started in the past and has not caught up"
    if reader.buffered_bytes:
        return "it is live, and its reader has not taken what fills its window"
    return "nothing holds it up"
