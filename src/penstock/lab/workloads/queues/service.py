"""The queue service in the laboratory."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import ClassVar

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.clock import Instant
from penstock.core.configuration import suggestion
from penstock.lab.oracle.queues.history import METRICS, QueuesHistory
from penstock.lab.oracle.queues.records import ConsumerHistory, ProducerHistory
from penstock.lab.scenario.curve import NotACurve, is_zero, points_of
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Client, Scenario
from penstock.lab.service import LabService, NetStage, RandomPart, Stage
from penstock.lab.workloads.attribute_values import InvalidAttributeSpec
from penstock.lab.workloads.message_source import MessageSource, SourceSpec
from penstock.lab.workloads.queues.applications import NetQueueConsumer, NetQueueProducer
from penstock.lab.workloads.queues.machines import SimQueueConsumer, SimQueueProducer
from penstock.lab.workloads.queues.random_part import random_part
from penstock.lab.workloads.queues.reach import Reach
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer

SERVICE = "queues"


class QueuesLab(LabService):
    """Producers and consumers of queues and alias queues."""

    name = SERVICE
    roles: ClassVar = {"producer": QueueProducer, "consumer": QueueConsumer}
    metrics = METRICS
    telemetry = frozenset(
        (
            "queue_messages",
            "queue_waiting",
            "queue_consumers",
            "queue_received_messages",
            "queue_consumed_messages",
            "alias_messages",
            "alias_forwarded_messages",
            "alias_weight",
        )
    )

    def check(self, scenario: Scenario) -> None:
        reach = Reach(scenario)
        for client in _clients(scenario):
            where = f"clients {client.name!r}"
            try:
                points_of(client.rate_msgs_per_s)
            except NotACurve as error:
                raise ScenarioError(f"{where}.rate_msgs_per_s: {error}") from None
            if isinstance(client, QueueProducer):
                _check_producer(where, client, reach)
            else:
                _check_consumer(where, client, reach)

    def history(self, scenario: Scenario) -> QueuesHistory:
        reach = Reach(scenario)
        producers, consumers = {}, {}
        for client in _clients(scenario):
            if isinstance(client, QueueProducer):
                producers[client.name] = ProducerHistory(
                    client.name,
                    reach.queues_of(client),
                    in_order=reach.keeps_order(client),
                    held_up=reach.holds_up(client),
                )
            else:
                consumers[client.name] = ConsumerHistory(
                    client.name, client.address, client.selector, stays=reach.stays(client)
                )
        return QueuesHistory(producers, consumers)

    def machine(
        self, client: QueueProducer | QueueConsumer, history: QueuesHistory, stage: Stage
    ) -> SimQueueProducer | SimQueueConsumer:
        if isinstance(client, QueueConsumer):
            return SimQueueConsumer(client, history.consumers[client.name], stage)
        return SimQueueProducer(client, _sending(client, history, stage), stage)

    def application(
        self, client: QueueProducer | QueueConsumer, history: QueuesHistory, stage: NetStage
    ) -> NetQueueProducer | NetQueueConsumer:
        if isinstance(client, QueueConsumer):
            return NetQueueConsumer(client, history.consumers[client.name], stage)
        return NetQueueProducer(client, _sending(client, history, stage), stage)

    def random_part(self, random: Random, starts_s: Mapping[str, float]) -> RandomPart:
        return random_part(random, starts_s)

    def stopped(self, client: Client, history: QueuesHistory, now: Instant) -> None:
        """A consumer that is gone gives back what it has, and consumes nothing more."""
        consumer = history.consumers.get(client.name)
        if consumer is not None:
            consumer.stays = False


def _clients(scenario: Scenario) -> list[QueueProducer | QueueConsumer]:
    return [each for each in scenario.clients if each.service == SERVICE]


def _source(client: QueueProducer, seed: int) -> MessageSource:
    return MessageSource(
        SourceSpec(
            client.name,
            client.queue,
            dict(client.attributes),
            payload_bytes=client.payload_bytes,
            batch_rows=client.batch_rows,
        ),
        seed,
    )


def _sending(client: QueueProducer, history: QueuesHistory, stage: Stage) -> ProducerHistory:
    """The history of a producer, told what it sends."""
    producer = history.producers[client.name]
    producer.source = _source(client, stage.seed)
    return producer


def _check_producer(where: str, client: QueueProducer, reach: Reach) -> None:
    if client.address not in reach.queues and client.address not in reach.aliases:
        queue, _, broker = client.address.partition("@")
        raise ScenarioError(
            f"{where}.queue: broker {broker!r} has no queue or alias queue {queue!r}; "
            f"{suggestion(queue, reach.at(broker))}"
        )
    try:
        _source(client, 0)
    except InvalidAttributeSpec as error:
        raise ScenarioError(f"{where}.attributes: {error}") from None
    limit = client.max_in_flight
    if not limit and is_zero(client.rate_msgs_per_s):
        raise ScenarioError(
            f"{where}: set rate_msgs_per_s, or max_in_flight to send as fast as possible"
        )
    if limit and limit < client.batch_rows:
        raise ScenarioError(
            f"{where}.max_in_flight: must be 0 or at least batch_rows ({client.batch_rows})"
        )


def _check_consumer(where: str, client: QueueConsumer, reach: Reach) -> None:
    queue, _, broker = client.address.partition("@")
    if client.address in reach.aliases:
        destinations = ", ".join(sorted(reach.aliases[client.address]))
        raise ScenarioError(
            f"{where}.queue: {queue!r} is an alias queue, which is write-only; receive from "
            f"{destinations}"
        )
    if broker != client.broker:
        raise ScenarioError(
            f"{where}.queue: a consumer connects to the broker that has the queue; set broker = "
            f"{broker!r}"
        )
    if client.address not in reach.queues:
        queues = [each for each in reach.at(broker) if f"{each}@{broker}" in reach.queues]
        raise ScenarioError(
            f"{where}.queue: broker {broker!r} has no queue {queue!r}; {suggestion(queue, queues)}"
        )
    try:
        parse(client.selector)
    except SelectorError as error:
        raise ScenarioError(f"{where}.selector: {error}") from None
