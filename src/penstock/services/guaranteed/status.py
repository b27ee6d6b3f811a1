"""The guaranteed service's part of a broker's status (docs/reference/status.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nsmallest
from typing import Final

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.core.intervals import Interval, Tick
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.source.pubend import Pubend

MAX_LISTED_SUBSCRIPTIONS: Final = 1000
"""The document names so many subscriptions and counts the rest: it is for people and dashboards,
and must not grow with the number of clients."""


class PubendStatus(msgspec.Struct, frozen=True):
    """One stream that is published here."""

    published_messages: int
    log_bytes: int
    publications_waiting: int
    held_by: str
    lost: tuple[Interval, ...] = ()
    problems: tuple[str, ...] = ()


class SubscriptionStatus(msgspec.Struct, frozen=True):
    """One subscription that is connected here."""

    name: str
    session: str
    selector: str
    durable: bool
    delivered_messages: int
    buffered_bytes: int
    under_way_bytes: int
    lag_s: float
    catching_up: tuple[str, ...]
    slow_for_s: float
    times_slow: int


class DurableSubscriptionStatus(msgspec.Struct, frozen=True):
    """One durable subscription of this broker, with a reader or without."""

    name: str
    selector: str
    session: str
    absent_for_s: float
    holds_logs: bool
    behind_s: float
    positions: dict[str, Tick]


class GuaranteedStatus(msgspec.Struct, frozen=True):
    """Streams and subscriptions of one broker."""

    pubends: dict[str, PubendStatus]
    subscriptions: list[SubscriptionStatus]
    unlisted_subscriptions: int
    durable_subscriptions: list[DurableSubscriptionStatus]
    unlisted_durable_subscriptions: int
    horizons: dict[str, Tick]


def status_of(pubends: Mapping[str, Pubend], edge: Edge, now: Instant) -> GuaranteedStatus:
    """The service's part of the status."""
    subscriptions = edge.subscriptions()
    listed = subscriptions[:MAX_LISTED_SUBSCRIPTIONS]
    durable = durable_statuses(edge, now)
    return GuaranteedStatus(
        pubends=pubend_statuses(pubends, now),
        subscriptions=subscription_statuses(listed, now),
        unlisted_subscriptions=len(subscriptions) - len(listed),
        durable_subscriptions=durable,
        unlisted_durable_subscriptions=len(edge.durable_subscriptions()) - len(durable),
        horizons=edge.horizons(),
    )


def pubend_statuses(pubends: Mapping[str, Pubend], now: Instant) -> dict[str, PubendStatus]:
    """Every pubend of a broker."""
    return {
        name: PubendStatus(
            pubend.published_messages,
            pubend.log_bytes,
            pubend.waiting,
            pubend.holds.describe_lowest(),
            tuple(pubend.lost),
            tuple(pubend.problems(now)),
        )
        for name, pubend in pubends.items()
    }


def subscription_statuses(
    subscriptions: Iterable[Subscription], now: Instant
) -> list[SubscriptionStatus]:
    """The subscriptions as they stand; the lag is that of the stream that is furthest behind."""
    return [
        SubscriptionStatus(
            name=each.name,
            session=each.session or "",
            selector=each.selector.text,
            durable=each.durable,
            delivered_messages=each.delivered_messages,
            buffered_bytes=each.buffered_bytes,
            under_way_bytes=each.under_way_bytes,
            lag_s=in_seconds(max(0, now - min(each.positions.values(), default=now))),
            catching_up=tuple(each.catching_up),
            slow_for_s=0.0 if each.slow_since is None else in_seconds(now - each.slow_since),
            times_slow=each.times_slow,
        )
        for each in subscriptions
    ]


def durable_statuses(edge: Edge, now: Instant) -> list[DurableSubscriptionStatus]:
    """The durable subscriptions that reach back furthest, the furthest first."""
    furthest = nsmallest(MAX_LISTED_SUBSCRIPTIONS, edge.durable_subscriptions(), key=_oldest_tick)
    return [
        DurableSubscriptionStatus(
            name=each.name,
            selector=each.selector.text,
            session=each.session or "",
            absent_for_s=in_seconds(now - each.absent_since) if each.absent_since else 0.0,
            holds_logs=edge.holds_logs(each, now),
            behind_s=in_seconds(max(0, now - _oldest_tick(each))),
            positions=dict(each.saved),
        )
        for each in furthest
    ]


def _oldest_tick(subscription: Subscription) -> Tick:
    return min(subscription.saved.values(), default=subscription.made_at)
