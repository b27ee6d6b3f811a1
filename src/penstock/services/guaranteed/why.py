"""What slows a pubend down: the answer to ``penstock why``."""

from __future__ import annotations

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.publisher_control import Change


class Explanation(msgspec.Struct, frozen=True):
    """Everything that is known of a pubend's limit; rates are messages a second, 0 is no limit."""

    pubend: str
    broker: str
    throttled: bool
    allowed_msgs_per_s: float
    observed_msgs_per_s: float
    publications_waiting: int
    since: Instant
    for_s: float
    rule: str
    cause: str
    bottleneck_broker: str
    bottleneck_link: str
    recovering: bool
    log_bytes: int
    log_held_by: str
    """Who keeps the log from being trimmed, in words."""
    changes: list[Change]
    problems: list[str] = []


def explain(pubend: Pubend, broker: str, now: Instant) -> bytes:
    """The explanation as JSON."""
    control = pubend.control
    limit = control.limit_msgs_per_s
    alert = control.last_alert if limit is not None else None
    worst = None
    if alert is not None:
        worst = alert.nonrecovering or alert.recovering
    explanation = Explanation(
        pubend=pubend.name,
        broker=broker,
        throttled=limit is not None,
        allowed_msgs_per_s=limit or 0.0,
        observed_msgs_per_s=control.history.rate(now),
        publications_waiting=pubend.waiting,
        since=control.since,
        for_s=in_seconds(now - control.since),
        rule=control.rule,
        cause=control.cause,
        bottleneck_broker=worst.edge if worst is not None else "",
        bottleneck_link=worst.link if worst is not None else "",
        recovering=alert is not None and alert.recovering is not None,
        log_bytes=pubend.log_bytes,
        log_held_by=pubend.holds.describe_lowest(),
        changes=list(control.changes),
        problems=pubend.problems(now),
    )
    return msgspec.json.encode(explanation)
