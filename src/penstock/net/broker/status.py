"""The status document of a broker.

The document is described field by field in docs/reference/status.md; programs decode it into
``BrokerStatus``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.core.clock import in_seconds
from penstock.core.machine import LinkName
from penstock.net.broker.link import Link


class LinkStatus(msgspec.Struct, frozen=True):
    """One link, as this end sees it."""

    up: bool
    cut: bool
    address: str
    in_state_for_s: float
    bandwidth_bytes_per_s: int
    queue_bytes: int
    high_water_bytes: int
    sent_bytes: int
    sent_messages: int
    dropped_messages: int
    flushed_messages: int


class BrokerStatus(msgspec.Struct, frozen=True):
    """The whole status document."""

    name: str
    software: str
    incarnation: int
    uptime_s: float
    listening: str
    sessions: int
    store_load: float
    links: dict[str, LinkStatus]
    services: dict[str, Any]
    """The status of each service, by the service's name."""
    problems: tuple[str, ...] = ()
    """Problems that an operator should know, as sentences; empty if nothing is wrong."""


def link_statuses(links: Mapping[LinkName, Link]) -> dict[str, LinkStatus]:
    """The status of every link."""
    return {name: _link_status(link) for name, link in links.items()}


def _link_status(link: Link) -> LinkStatus:
    counts = link.outbox.statistics()
    return LinkStatus(
        up=link.up,
        cut=link.cut,
        address=link.connection.peer_address if link.connection else link.config.address,
        in_state_for_s=in_seconds(link.in_state_for),
        bandwidth_bytes_per_s=link.outbox.rate_bytes_per_s,
        queue_bytes=counts.queued_bytes,
        high_water_bytes=counts.high_water_bytes,
        sent_bytes=counts.sent_bytes,
        sent_messages=counts.sent_messages,
        dropped_messages=counts.dropped_messages,
        flushed_messages=counts.flushed_messages,
    )
