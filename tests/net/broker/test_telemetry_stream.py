"""A broker's own stream: what is on it, what is not, and that it never grows by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.core.machine import Fact, Received
from penstock.core.trace import TraceRecord
from penstock.net.broker.config import TelemetryConfig
from penstock.services.guaranteed import telemetry_stream
from penstock.services.guaranteed.links import OWN_SESSION
from penstock.services.guaranteed.messages import (
    Delivery,
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
)
from penstock.services.guaranteed.telemetry_stream import TelemetryStream

OWN = "telemetry@b"


class Machine:
    """Hears what a stream says to its broker."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.stream = TelemetryStream("b", "trial", self.facts_of)

    def facts_of(self, facts: Iterable[Fact]) -> None:
        self.facts += facts

    def publications(self) -> list[Publish]:
        heard = [fact.message for fact in self.facts if isinstance(fact, Received)]
        return [message for message in heard if isinstance(message, Publish)]


def record(number: int, subject: str = "p") -> TraceRecord:
    return TraceRecord(number, "b", subject, "m", number, f"why {number}")


def metrics(publication: Publish) -> list[Any]:
    return [row["metric"] for row in publication.batch.attribute_rows()]


def test_one_publication_is_under_way_at_a_time() -> None:
    machine = Machine()
    stream = machine.stream
    stream.start()
    assert machine.facts == [Received(OWN_SESSION, OpenProducer(OWN, OWN))]
    stream.add([record(1)])
    assert not machine.publications()

    stream.answered(ProducerOpened(OWN, OWN, 7))
    stream.add([record(2)])
    stream.add([record(3)])
    assert [each.first_sequence for each in machine.publications()] == [7]

    stream.answered(PublishReceipt(OWN, 7, 1, 100))
    first, second = machine.publications()
    assert (first.first_sequence, len(first.batch)) == (7, 1)
    assert (second.first_sequence, len(second.batch)) == (8, 2)


def test_a_row_is_a_record_with_its_run() -> None:
    machine = Machine()
    machine.stream.answered(ProducerOpened(OWN, OWN, 0))
    machine.stream.add([record(5)])
    (publication,) = machine.publications()

    assert list(publication.batch.attribute_rows()) == [
        {
            "topic": "telemetry",
            "run": "trial",
            "at_ns": 5,
            "node": "b",
            "subject": "p",
            "metric": "m",
            "value": 5.0,
        }
    ]
    assert [bytes(each) for each in publication.batch.payload_rows()] == [b"why 5"]


def test_it_never_tells_of_telemetry_streams() -> None:
    machine = Machine()
    machine.stream.answered(ProducerOpened(OWN, OWN, 0))
    machine.stream.add([record(1, OWN), record(2, "telemetry@c")])
    assert not machine.publications()


def test_what_gathers_is_bounded_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_stream, "MAX_GATHERED_RECORDS", 3)
    machine = Machine()
    machine.stream.add([record(1), record(2)])
    machine.stream.add([record(3), record(4), record(5)])
    machine.stream.add([record(6)])
    assert machine.stream.dropped == 3

    machine.stream.answered(ProducerOpened(OWN, OWN, 0))
    (publication,) = machine.publications()
    assert metrics(publication) == ["m", "m", "m", "telemetry_dropped"]
    assert list(publication.batch.attribute_rows())[-1]["value"] == 3.0


def test_what_the_store_refuses_is_counted_and_its_numbers_are_used_again() -> None:
    machine = Machine()
    stream = machine.stream
    stream.answered(ProducerOpened(OWN, OWN, 4))
    stream.add([record(1)])
    stream.add([record(2)])
    stream.answered(PublishRefused(OWN, 4, 1, "the disk is full"))

    again = machine.publications()[1]
    assert again.first_sequence == 4
    assert metrics(again) == ["m", "telemetry_dropped"]


async def test_a_subscriber_reads_what_the_broker_measures(brokers: Any) -> None:
    telemetry = TelemetryConfig(interval_s=0.01, publish=True, run="trial")
    broker = await brokers.start("b", telemetry=telemetry)
    client = await brokers.client(broker)
    await client.subscribe("s", "metric = 'published_messages'", pubends=("telemetry@*",))
    await client.delivered("s", 3)

    rows = [
        row
        for message in client.messages
        if isinstance(message, Delivery)
        for row in message.frame.batch.attribute_rows()
    ]
    assert {(row["run"], row["node"], row["subject"]) for row in rows} == {("trial", "b", "b.1")}


async def test_who_subscribes_to_everything_is_spared_what_brokers_say_of_themselves(
    brokers: Any,
) -> None:
    telemetry = TelemetryConfig(interval_s=0.01, publish=True)
    broker = await brokers.start("b", telemetry=telemetry)
    client = await brokers.client(broker)
    await client.subscribe("everything", start="earliest")
    await client.subscribe("telemetry", start="earliest", pubends=("telemetry@b",))
    await client.delivered("telemetry", 3)
    await client.publish("a", 0, [b"a client's"])
    await client.delivered("everything", 1)

    assert client.payloads("everything") == [b"a client's"]


async def test_no_client_publishes_to_it(brokers: Any) -> None:
    telemetry = TelemetryConfig(interval_s=1, publish=True)
    broker = await brokers.start("b", telemetry=telemetry)
    client = await brokers.client(broker)
    client.send(OpenProducer("me", OWN))
    refusal = await client.heard(ProducerRefused)
    assert refusal.reason == f"broker 'b' hosts no pubend {OWN!r} (it hosts: b.1)"

    for number in range(20):
        client.send(OpenProducer(f"p{number}"))
    await client.heard(ProducerOpened, lambda message: message.producer == "p19")
    opened = [each.pubend for each in client.messages if isinstance(each, ProducerOpened)]
    assert set(opened) == {"b.1"}
