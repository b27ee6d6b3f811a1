"""The telemetry of the guaranteed service: measurements at every trace interval, and throttles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from penstock.core.clock import SECOND, Instant, in_seconds
from penstock.core.trace import TraceRecord
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.laws.rate_law import Reading
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.publisher_control import PublisherControl


def service_records(
    node: str, pubends: Mapping[str, Pubend], edge: Edge, now: Instant
) -> Iterator[TraceRecord]:
    """One record for each quantity of each pubend, stream and subscription."""
    for name, pubend in pubends.items():
        yield TraceRecord(now, node, name, "published_messages", pubend.published_messages)
        yield TraceRecord(now, node, name, "log_bytes", pubend.log_bytes)
        yield TraceRecord(now, node, name, "publications_waiting", pubend.waiting)
        allowed = pubend.control.allowed_msgs_per_s
        yield TraceRecord(now, node, name, "allowed_msgs_per_s", allowed)
        alert, alert_at = pubend.control.last_alert, pubend.control.last_alert_at
        if alert is not None and alert_at is not None and now - alert_at <= SECOND:
            yield from _alert_records(now, node, name, alert)
    for name, control in edge.controls.items():
        yield TraceRecord(now, node, name, "doubt_horizon_rate", control.rate.smoothed)
        yield TraceRecord(now, node, name, "recovering", float(control.recovering))
        window = in_seconds(control.nack_window_ns)
        yield TraceRecord(now, node, name, "nack_window_s", window)
    for pubend_name, horizon in edge.horizons().items():
        lag = in_seconds(max(0, now - horizon))
        yield TraceRecord(now, node, pubend_name, "doubt_horizon_lag_s", lag)
    yield from _subscription_records(now, node, edge)


def _subscription_records(now: Instant, node: str, edge: Edge) -> Iterator[TraceRecord]:
    """Subscriptions of the same name (readers of one program) are added up, so that a subject has
    one value at an instant.
    """
    delivered: Counter[str] = Counter()
    buffered: Counter[str] = Counter()
    slow: Counter[str] = Counter()
    for subscription in edge.subscriptions():
        delivered[subscription.name] += subscription.delivered_messages
        buffered[subscription.name] += subscription.buffered_bytes
        slow[subscription.name] += subscription.times_slow
    for name in delivered:
        yield TraceRecord(now, node, name, "delivered_messages", float(delivered[name]))
        yield TraceRecord(now, node, name, "buffered_bytes", float(buffered[name]))
        yield TraceRecord(now, node, name, "times_slow", float(slow[name]))


def _alert_records(now: Instant, node: str, pubend: str, alert: Reading) -> Iterator[TraceRecord]:
    if alert.nonrecovering is not None:
        worst = alert.nonrecovering
        yield TraceRecord(now, node, pubend, "alert_nonrecovering", worst.rate, worst.edge)
    if alert.recovering is not None:
        worst = alert.recovering
        yield TraceRecord(now, node, pubend, "alert_recovering", worst.rate, worst.edge)


class ThrottleDetail(msgspec.Struct, frozen=True):
    """The ``detail`` of a throttle record, as JSON: codes and numbers, no sentence."""

    rule: str
    broker: str
    link: str
    link_bytes: int
    rate: float
    recovering: bool


def throttle_record(node: str, control: PublisherControl, now: Instant) -> TraceRecord:
    """A change of a pubend's limit, with its rule and its cause."""
    cause = control.cause
    detail = ThrottleDetail(
        control.rule.code, cause.broker, cause.link, cause.link_bytes, cause.rate, cause.recovering
    )
    text = msgspec.json.encode(detail).decode()
    return TraceRecord(now, node, control.pubend, "throttle", control.allowed_msgs_per_s, text)
