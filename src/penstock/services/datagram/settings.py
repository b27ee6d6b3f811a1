"""The datagram service's machine; it has no keys in BROKER.toml."""

from __future__ import annotations

from penstock.core.service import BrokerContext
from penstock.services.datagram.broker import DatagramBroker


def build(context: BrokerContext) -> DatagramBroker:
    """The service's machine: brokers only forward, and are told nothing."""
    return DatagramBroker(context.broker, now=context.now)
