"""Telemetry records: one flat schema for both worlds.

Every measurement that an experiment, a report or the live view needs is a ``TraceRecord``: the
``node`` that measured, the ``subject`` (a link, a pubend, a subscriber), the ``metric``, its
``value``, and a free ``detail`` for records that explain rather than count.  The simulator and the
network write the same Parquet schema (docs/reference/telemetry.md), so a report works on both.
"""

from __future__ import annotations

import msgspec

from penstock.core.clock import Instant


def telemetry_stream(broker: str) -> str:
    """The stream on which a broker publishes what it measures of itself."""
    return f"telemetry@{broker}"


def is_own_stream(name: str) -> bool:
    """Whether a stream is a broker's own (``telemetry@pb``): no client may publish to it."""
    return "@" in name


class TraceRecord(msgspec.Struct, frozen=True, gc=False):
    """One measurement or one explanation."""

    at: Instant
    node: str
    subject: str
    metric: str
    value: float
    detail: str = ""
