"""What a broker records of the datagram service."""

from __future__ import annotations

from penstock.core.trace import TraceRecord
from penstock.services.datagram.broker import DatagramBroker
from penstock.services.datagram.messages import OpenDatagram, SubscribeDatagrams
from penstock.services.datagram.telemetry import broker_records

from .conftest import NOW, publication


def test_a_broker_that_nobody_uses_records_nothing() -> None:
    assert list(broker_records(DatagramBroker("near", now=NOW), NOW)) == []


def test_clients_and_messages_are_counted() -> None:
    broker = DatagramBroker("near", now=NOW)
    broker.received("client/1", OpenDatagram("p", True), NOW)
    broker.received("client/2", OpenDatagram("s", False), NOW)
    broker.received("client/2", SubscribeDatagrams(1, "kind = 'wanted'"), NOW)
    broker.received("client/1", publication(1), NOW)
    broker.received("client/2", publication(2), NOW)
    assert list(broker.records(7)) == [
        TraceRecord(7, "near", "datagram", "clients", 2.0),
        TraceRecord(7, "near", "datagram", "forwarded_messages", 1.0),
        TraceRecord(7, "near", "datagram", "refused_messages", 1.0),
    ]
