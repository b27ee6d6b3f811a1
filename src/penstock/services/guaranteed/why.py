"""Why a pubend is limited: the answer to ``penstock why PUBEND``."""

from __future__ import annotations

import msgspec

from penstock.core.clock import Duration, Instant, in_seconds
from penstock.mechanisms.lateness import BUSY_NS
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.publisher_control import Change


class Explanation(msgspec.Struct, frozen=True):
    """A pubend's limit and its cause; rates are messages a second, 0 is no limit.

    ``rule`` and ``cause`` are sentences for people; the codes beside them are those of the
    ``ThrottleNotice``.
    """

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
    """Whether the bottleneck broker is recovering; otherwise it is live and falls behind."""
    log_bytes: int
    log_held_by: str
    """Who keeps the log from being trimmed, as a sentence."""
    changes: list[Change]
    problems: list[str] = []
    rule_code: str = ""
    late_s: float = 0.0
    """How much too late this broker was woken in the last seconds, at most."""
    processor_busy: bool = False
    """Whether that is more than a scheduler explains: the broker lacks a processor."""


def explain(pubend: Pubend, broker: str, now: Instant, late_ns: Duration = 0) -> bytes:
    """The explanation as JSON; ``late_ns`` is how late the broker was woken of late."""
    control = pubend.control
    rule, cause = control.rule, control.cause
    explanation = Explanation(
        pubend=pubend.name,
        broker=broker,
        throttled=control.throttled,
        allowed_msgs_per_s=control.allowed_msgs_per_s,
        observed_msgs_per_s=control.history.rate(now),
        publications_waiting=pubend.waiting,
        since=control.since,
        for_s=in_seconds(now - control.since),
        rule=rule.sentence,
        cause=cause.sentence,
        bottleneck_broker=cause.broker,
        bottleneck_link=cause.link,
        recovering=cause.recovering,
        log_bytes=pubend.log_bytes,
        log_held_by=pubend.holds.describe_lowest(),
        changes=list(control.changes),
        problems=pubend.problems(now),
        rule_code=rule.code,
        late_s=in_seconds(late_ns),
        processor_busy=late_ns >= BUSY_NS,
    )
    return msgspec.json.encode(explanation)
