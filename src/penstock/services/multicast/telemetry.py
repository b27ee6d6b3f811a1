"""What the multicast service measures of itself."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.streams.inbound import Inbound
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.senders import Senders

MAX_TRACED_SENDERS = 100
"""Senders that get records of their own; the sums count all of them."""


def service_records(
    broker: str,
    prices: PriceExchange,
    senders: Senders,
    outbound: Outbound,
    inbound: Inbound,
    now: Instant,
) -> Iterator[TraceRecord]:
    """The records of one moment; none from a broker that the service has not used yet."""
    for link, own in prices.pricing.own_links().items():
        subject = f"{broker}->{link}"
        if own.price > 0:
            yield TraceRecord(now, broker, subject, "link_price", own.price)
        if own.told_bytes:
            yield TraceRecord(now, broker, subject, "link_price_bytes", own.told_bytes)
    for link, told in prices.riders.told.items():
        if told.rode or told.went_alone:
            subject = f"{broker}->{link}"
            yield TraceRecord(now, broker, subject, "prices_rode_on_data", told.rode)
            yield TraceRecord(now, broker, subject, "prices_went_alone", told.went_alone)
    waiting = senders.waiting()
    for sender in waiting[:MAX_TRACED_SENDERS]:
        subject = f"sender {sender.producer}"
        yield TraceRecord(now, broker, subject, "sender_waiting_bytes", sender.waiting_bytes)
        yield TraceRecord(now, broker, subject, "sender_sent_packets", sender.sent_packets)
    if len(senders):
        yield TraceRecord(now, broker, "multicast", "senders_waiting", len(waiting))
        unconfirmed = outbound.unconfirmed_bytes
        yield TraceRecord(now, broker, "multicast", "unconfirmed_bytes", unconfirmed)
    if inbound.delivered_rows:
        yield TraceRecord(now, broker, "multicast", "delivered_rows", inbound.delivered_rows)
        yield TraceRecord(now, broker, "multicast", "held_streams", inbound.held_streams)
