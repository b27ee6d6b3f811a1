"""The datagram service in scenarios: its clients, its metrics, its history."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any, ClassVar

import msgspec

from penstock.content.selectors.error import SelectorError
from penstock.core.clock import Instant, seconds
from penstock.core.machine import Machine
from penstock.core.randomness import random_stream
from penstock.lab.oracle.datagram.history import DatagramHistory
from penstock.lab.oracle.datagram.judge import RULES
from penstock.lab.oracle.datagram.participants import PublisherHistory, SubscriberHistory
from penstock.lab.oracle.history import Metric
from penstock.lab.scenario.curve import NotACurve, is_zero
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Client, Scenario
from penstock.lab.service import (
    Application,
    LabService,
    NetStage,
    RandomPart,
    Stage,
    parameters_of,
)
from penstock.lab.workloads.attribute_values import InvalidAttributeSpec, Popularity
from penstock.lab.workloads.datagram.applications import NetDatagramPublisher, NetDatagramSubscriber
from penstock.lab.workloads.datagram.machines import SimDatagramPublisher, SimDatagramSubscriber
from penstock.lab.workloads.datagram.messages import DatagramSource, UnreachableSize
from penstock.lab.workloads.datagram.random_part import random_part
from penstock.lab.workloads.datagram.tables import (
    DatagramClient,
    DatagramPublisher,
    DatagramSubscriber,
    RandomSelector,
)
from penstock.lab.workloads.datagram.telemetry import PublisherState
from penstock.lab.workloads.pace import Pace, PacedSlots
from penstock.services.datagram.messages import address_of
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.control import PublishingControl, TooLarge
from penstock.services.datagram.selectors import read_selector

BROKER_METRICS = ("clients", "forwarded_messages", "refused_messages")
"""Recorded by ``services/datagram/telemetry``."""


class DatagramLab(LabService):
    """Publishers and subscribers of best-effort messages."""

    name: ClassVar[str] = "datagram"
    roles: ClassVar[Mapping[str, type[Client]]] = {
        "publisher": DatagramPublisher,
        "subscriber": DatagramSubscriber,
    }
    client_parameters: ClassVar[type[msgspec.Struct] | None] = DatagramParameters
    metrics: ClassVar[Mapping[str, Metric]] = {
        "delivered": Metric("messages that subscribers received"),
        "submitted": Metric("messages that publishers wanted to send"),
        "sent": Metric("messages that left their publishers"),
        "refused": Metric("messages that were not taken, because too many waited in their flow"),
        "given_up": Metric("messages that waited when the connection of their publisher broke"),
        "wanted": Metric("messages that were sent for a subscriber, at the time of sending"),
        "lost": Metric("wanted messages that did not arrive, at the time of sending"),
        "delay_s": Metric("the time from a message's sending to its arrival", kind="sample"),
        **{name: Metric(meaning, kind="rule") for name, meaning in RULES.items()},
    }
    telemetry: ClassVar[frozenset[str]] = frozenset(
        (*BROKER_METRICS, *PublisherState.__struct_fields__)
    )

    def check(self, scenario: Scenario) -> None:
        """Check attributes, sizes, rates, selectors and parameters."""
        for client in scenario.clients:
            if isinstance(client, DatagramPublisher):
                _check_publisher(scenario, client)
            elif isinstance(client, DatagramSubscriber):
                _check_subscriber(scenario, client)

    def history(self, scenario: Scenario) -> DatagramHistory:
        """The empty history of a run."""
        return DatagramHistory(single_path=_is_forest(scenario))

    def machine(self, client: DatagramClient, history: DatagramHistory, stage: Stage) -> Machine:
        """A client for the simulated world."""
        parameters = _parameters(stage.scenario, client)
        if isinstance(client, DatagramSubscriber):
            return SimDatagramSubscriber(_subscriber(client, history, stage), parameters)
        assert isinstance(client, DatagramPublisher)
        publisher, source = _publisher(client, history, stage, parameters)
        interval = seconds(stage.scenario.trace_interval_s)
        # Records of all clients are of the same instants, whenever the clients started.
        passed = -(-(stage.now - stage.began_at) // interval)
        return SimDatagramPublisher(
            publisher,
            source,
            parameters,
            _slots(client, stage),
            stop_at=stage.stop_at,
            traces_at=stage.began_at + passed * interval,
            trace_interval=interval,
        )

    def application(
        self, client: DatagramClient, history: DatagramHistory, stage: NetStage
    ) -> Application:
        """A client for the network world."""
        parameters = _parameters(stage.scenario, client)
        if isinstance(client, DatagramSubscriber):
            subscriber = _subscriber(client, history, stage)
            return NetDatagramSubscriber(subscriber, parameters, stage.url)
        assert isinstance(client, DatagramPublisher)
        publisher, source = _publisher(client, history, stage, parameters)
        return NetDatagramPublisher(publisher, source, parameters, _slots(client, stage), stage)

    def random_part(self, random: Random, starts_s: Mapping[str, float]) -> RandomPart:
        """Publishers and subscribers at random brokers."""
        return random_part(random, starts_s)

    def stopped(self, client: Any, history: DatagramHistory, now: Instant) -> None:
        """A subscriber that has stopped wants nothing more."""
        subscriber = history.subscribers.get(client.name)
        if subscriber is not None:
            subscriber.away(now)


def _parameters(scenario: Scenario, client: DatagramClient) -> DatagramParameters:
    return parameters_of(DatagramParameters, scenario, DatagramLab.name, client.parameters)


def _publisher(
    client: DatagramPublisher,
    history: DatagramHistory,
    stage: Stage,
    parameters: DatagramParameters,
) -> tuple[PublisherHistory, DatagramSource]:
    source = _source(client, parameters, stage.seed)
    return history.add_publisher(PublisherHistory(client.name, source)), source


def _source(client: DatagramPublisher, parameters: DatagramParameters, seed: int) -> DatagramSource:
    return DatagramSource(
        client.name, client.broker, client.attributes, client.message_bytes, parameters, seed
    )


def _slots(client: DatagramPublisher, stage: Stage) -> PacedSlots:
    pace = Pace(
        stage.now + seconds(client.settle_s),
        stage.stop_at,
        client.rate_msgs_per_s,
        began_at=stage.began_at,
    )
    return PacedSlots(pace, random_stream(stage.seed, client.name, "pace"))


def _subscriber(
    client: DatagramSubscriber, history: DatagramHistory, stage: Stage
) -> SubscriberHistory:
    selector = client.selector
    if client.random_selector is not None:
        random = random_stream(stage.seed, client.name, "selector")
        selector = random_selector(client.random_selector, random)
    return history.add_subscriber(SubscriberHistory(client.name, selector))


def random_selector(wish: RandomSelector, random: Random) -> str:
    """One of the selectors that a table describes."""
    popularity = _popularity(wish.values, wish.zipf_exponent)
    (count,) = random.choices(range(1, len(wish.weights) + 1), wish.weights)
    chosen = sorted(random.sample(range(wish.attributes), count))
    return " AND ".join(f"a{each} = {popularity.at(random.random())}" for each in chosen)


_popularity = lru_cache(maxsize=16)(Popularity)


def _check_publisher(scenario: Scenario, client: DatagramPublisher) -> None:
    where = f"clients {client.name!r}"
    parameters = _parameters(scenario, client)
    try:
        idle = is_zero(client.rate_msgs_per_s)
    except NotACurve as problem:
        raise ScenarioError(f"{where}.rate_msgs_per_s: {problem}") from None
    if idle:
        raise ScenarioError(f"{where}.rate_msgs_per_s: must not be 0 throughout")
    try:
        source = _source(client, parameters, 0)
        control = PublishingControl(address_of(client.name, client.broker), parameters, now=0)
        control.check_size(source.attributes(0), source.payload(0))
    except InvalidAttributeSpec as problem:
        raise ScenarioError(f"{where}.attributes: {problem}") from None
    except (UnreachableSize, TooLarge) as problem:
        raise ScenarioError(f"{where}.message_bytes: {problem}") from None


def _check_subscriber(scenario: Scenario, client: DatagramSubscriber) -> None:
    where = f"clients {client.name!r}"
    _parameters(scenario, client)
    wish = client.random_selector
    if wish is None:
        try:
            read_selector(client.selector)
        except SelectorError as problem:
            raise ScenarioError(f"{where}.selector: {problem}") from None
        return
    if client.selector:
        raise ScenarioError(f"{where}: set selector or random_selector, not both")
    if not 1 <= len(wish.weights) <= wish.attributes or not sum(wish.weights):
        raise ScenarioError(
            f"{where}.random_selector.weights: give one weight for each number of comparisons, at "
            f"most {wish.attributes}, and not only zeros"
        )


def _is_forest(scenario: Scenario) -> bool:
    """Whether there is at most one path between any two brokers."""
    tree_of = {each.name: each.name for each in scenario.brokers}
    for link in scenario.links:
        first, second = (tree_of[name] for name in link.between)
        if first == second:
            return False
        tree_of = {name: first if tree == second else tree for name, tree in tree_of.items()}
    return True
