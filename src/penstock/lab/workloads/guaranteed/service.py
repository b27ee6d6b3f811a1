"""The guaranteed service in the laboratory."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from penstock.client.guaranteed.reader import ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.clock import Instant
from penstock.core.configuration import suggestion
from penstock.core.intervals import Interval
from penstock.core.machine import Machine
from penstock.core.randomness import random_stream
from penstock.lab.oracle.guaranteed.history import (
    GuaranteedHistory,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.oracle.guaranteed.judge import ANNOUNCED_LOST, RULES, UNFINISHED
from penstock.lab.oracle.history import Metric
from penstock.lab.scenario.broker_tables import broker_keys, broker_tables
from penstock.lab.scenario.curve import NotACurve, is_zero
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Client, Scenario
from penstock.lab.service import Application, LabService, NetStage, RandomPart, Stage
from penstock.lab.workloads.attribute_values import InvalidAttributeSpec
from penstock.lab.workloads.guaranteed.applications import NetPublisher, NetSubscriber
from penstock.lab.workloads.guaranteed.machines import SimPublisher, SimSubscriber
from penstock.lab.workloads.guaranteed.random_part import random_part
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber
from penstock.lab.workloads.message_source import MessageSource, SourceSpec, UnreachableSize
from penstock.lab.workloads.pace import Pace
from penstock.services.guaranteed.settings import GuaranteedTable

METRICS: Final = {
    "delivered": Metric("messages that subscribers received"),
    "submitted": Metric("messages that publishers submitted"),
    "acknowledged": Metric("messages with a receipt"),
    "refused": Metric("messages that were refused"),
    "uncertain": Metric("messages of which it is not known whether they are stored"),
    "unsettled": Metric("messages that had no outcome at the end, when they were submitted"),
    "delay_s": Metric("seconds from a message's tick to its delivery", "sample"),
    "lost": Metric("acknowledged messages that a subscriber is due and did not receive", "rule"),
    "duplicated": Metric("messages received twice", "rule"),
    "out_of_order": Metric("messages received after a later one", "rule"),
    "unwanted": Metric("messages that were refused, not published or not selected", "rule"),
    "corrupted": Metric("messages received with other content", "rule"),
    "misplaced": Metric("messages received at another tick than their receipt's", "rule"),
    "let_go": Metric("loss notices for messages that a durable subscription is due", "rule"),
    ANNOUNCED_LOST: Metric("loss notices, which break no rule", "rule"),
    UNFINISHED: Metric("lost messages that may still have been in flight at the end", "rule"),
}

ROLES: Final[Mapping[str, type[Client]]] = {"publisher": Publisher, "subscriber": Subscriber}

TELEMETRY: Final = frozenset(
    (
        "published_messages",
        "log_bytes",
        "publications_waiting",
        "allowed_msgs_per_s",
        "doubt_horizon_rate",
        "recovering",
        "nack_window_s",
        "doubt_horizon_lag_s",
        "delivered_messages",
        "buffered_bytes",
        "times_slow",
        "alert_nonrecovering",
        "alert_recovering",
        "throttle",
    )
)

assert {name for name, metric in METRICS.items() if metric.kind == "rule"} == {
    *RULES,
    ANNOUNCED_LOST,
    UNFINISHED,
}


class GuaranteedLab(LabService):
    """Publishers and durable or live subscribers."""

    name = "guaranteed"
    roles = ROLES
    metrics = METRICS
    telemetry = TELEMETRY
    log_prefix = "pubend/"

    def check(self, scenario: Scenario) -> None:
        """Check pubends, paces, messages and selectors."""
        _check_hosts(scenario)
        for client in scenario.clients:
            where = f"clients {client.name!r}"
            if isinstance(client, Publisher):
                _check_publisher(scenario, where, client)
            elif isinstance(client, Subscriber):
                try:
                    parse(client.selector)
                except SelectorError as error:
                    raise ScenarioError(f"{where}.selector: {error}") from None

    def history(self, scenario: Scenario) -> GuaranteedHistory:
        """The empty history of a run."""
        return GuaranteedHistory()

    def machine(
        self, client: Publisher | Subscriber, history: GuaranteedHistory, stage: Stage
    ) -> Machine:
        """A client for the simulated world."""
        if isinstance(client, Publisher):
            published = _new_publisher(client, history, stage)
            instance = random_stream(stage.seed, client.name, "instance").getrandbits(61)
            return SimPublisher(
                published,
                _pace(client, stage),
                random_stream(stage.seed, client.name, "pace"),
                producer=client.producer,
                instance=instance,
            )
        received = history.add_subscriber(subscriber_history(stage.scenario, client))
        options = ReaderOptions(durable=client.durable, window_bytes=client.window_bytes)
        return SimSubscriber(
            received, Start(client.start), options, read_msgs_per_s=client.read_msgs_per_s
        )

    def application(
        self, client: Publisher | Subscriber, history: GuaranteedHistory, stage: NetStage
    ) -> Application:
        """A client for the network world."""
        if isinstance(client, Publisher):
            published = _new_publisher(client, history, stage)
            random = random_stream(stage.seed, client.name, "pace")
            pace = _pace(client, stage)
            return NetPublisher(published, pace, random, stage.url, producer=client.producer)
        received = history.add_subscriber(subscriber_history(stage.scenario, client))
        return NetSubscriber(received, client, stage.url)

    def random_part(self, random: Random, starts_s: Mapping[str, float]) -> RandomPart:
        """Publishers and subscribers whose messages must all arrive."""
        return random_part(random, starts_s)

    def stopped(
        self, client: Publisher | Subscriber, history: GuaranteedHistory, now: Instant
    ) -> None:
        """From now on a subscriber is due nothing."""
        if client.name in history.subscribers:
            history.subscribers[client.name].left_at = now

    def damaged(self, history: GuaranteedHistory, log: str, interval: Interval) -> None:
        """Messages of a pubend became unreadable: a loss notice for them is excused."""
        history.damage(log, *interval)


def _new_publisher(client: Publisher, history: GuaranteedHistory, stage: Stage) -> PublisherHistory:
    source = MessageSource(source_spec(stage.scenario, client), stage.seed)
    return history.add_publisher(PublisherHistory(client.name, source))


def _pace(client: Publisher, stage: Stage) -> Pace:
    return Pace(
        stage.now,
        stage.stop_at,
        client.rate_msgs_per_s,
        client.pattern,
        client.batch_rows,
        client.messages,
        client.max_in_flight,
        stage.began_at,
    )


def _check_hosts(scenario: Scenario) -> None:
    hosts: dict[str, str] = {}
    for broker in scenario.brokers:
        for pubend in all_pubends_of(scenario, broker.name):
            if pubend in hosts:
                raise ScenarioError(
                    f"brokers {broker.name!r}.pubends: {pubend!r} is already hosted by "
                    f"{hosts[pubend]!r}; each pubend has one host"
                )
            hosts[pubend] = broker.name


def _check_publisher(scenario: Scenario, where: str, publisher: Publisher) -> None:
    hosted = all_pubends_of(scenario, publisher.broker)
    if not hosted:
        raise ScenarioError(
            f"{where}.broker: {publisher.broker!r} hosts no pubend; set pubends there"
        )
    if publisher.pubend and publisher.pubend not in hosted:
        raise ScenarioError(
            f"{where}.pubend: there is no pubend at {publisher.broker!r} {publisher.pubend!r}; "
            f"{suggestion(publisher.pubend, hosted)}"
        )
    if not publisher.pubend and len(hosted) > 1 and publisher.identity == "tick":
        raise ScenarioError(f'{where}.pubend: missing; identity = "tick" needs it')
    try:
        idle = is_zero(publisher.rate_msgs_per_s)
    except NotACurve as error:
        raise ScenarioError(f"{where}.rate_msgs_per_s: {error}") from None
    if idle and not publisher.max_in_flight:
        raise ScenarioError(
            f"{where}: set rate_msgs_per_s, or max_in_flight to publish as fast as possible"
        )
    try:
        MessageSource(source_spec(scenario, publisher), 0)
    except (UnreachableSize, InvalidAttributeSpec) as error:
        raise ScenarioError(f"{where}: {error}") from None


def all_pubends_of(scenario: Scenario, broker: str) -> tuple[str, ...]:
    """The pubends of a broker, with those that a later configuration adds."""
    found: dict[str, None] = {}
    changes = [
        fault.reconfigure.keys
        for fault in scenario.faults
        if fault.reconfigure is not None and fault.reconfigure.broker == broker
    ]
    for changed in ({}, *changes):
        for table in broker_tables(scenario, scenario.broker(broker), changed):
            if isinstance(table, GuaranteedTable):
                found |= dict.fromkeys(table.pubend_names(broker))
    return tuple(found)


def source_spec(scenario: Scenario, publisher: Publisher) -> SourceSpec:
    """What a publisher publishes."""
    hosted = all_pubends_of(scenario, publisher.broker)
    return SourceSpec(
        publisher.name,
        publisher.pubend or (hosted[0] if len(hosted) == 1 else ""),
        dict(publisher.attributes),
        publisher.payload_bytes,
        publisher.wire_bytes,
        publisher.batch_rows,
        publisher.identity,
    )


def subscriber_history(scenario: Scenario, subscriber: Subscriber) -> SubscriberHistory:
    """An empty history for a subscriber; both worlds fill it."""
    publishers = [each for each in scenario.clients if isinstance(each, Publisher)]
    return SubscriberHistory(
        subscriber.name,
        subscriber.broker,
        subscriber.selector,
        from_earliest=subscriber.start == "earliest" and not _trims(scenario),
        durable=subscriber.durable,
        identified=all(each.identity == "payload" for each in publishers),
    )


def _trims(scenario: Scenario) -> bool:
    """Whether logs are trimmed within the run: then "earliest" means the oldest kept message."""
    tables = [broker_keys(scenario, each).get("guaranteed", {}) for each in scenario.brokers]
    return any({"retain_for_ns", "retain_bytes"} & table.keys() for table in tables)
