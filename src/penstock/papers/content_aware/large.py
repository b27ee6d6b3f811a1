"""The large experiment (Section IV-E, Figures 11 and 12): 8 brokers, 760 clients.

Both publishers are behind a bottleneck; hundreds of subscribers, most of thin flows, are on the
other side of it, and those at the publishers' own broker are not.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from importlib.resources import files
from itertools import accumulate
from random import Random
from typing import Literal

import msgspec

from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.parser import parse
from penstock.core.clock import MILLISECOND, SECOND, in_seconds, seconds
from penstock.core.randomness import random_stream
from penstock.overlay.node import node_config
from penstock.papers.content_aware.scenario import Policy, named
from penstock.services.datagram.messages import Attribute, Publication
from penstock.services.datagram.parameters import DatagramParameters, Detection, Law
from penstock.sim.link import LinkModel
from penstock.sim.udp_workload import (
    CountingDatagramSubscriber,
    PacedDatagramPublisher,
    RatePlan,
    RatePoint,
)
from penstock.sim.world import SimWorld

BUCKET_NS = SECOND
SETTLING_NS = 2 * SECOND
MESSAGE_BYTES = 280
QUEUE_MESSAGES = 45
JITTER_NS = 4 * MILLISECOND


class LargeScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file's content."""

    service: Literal["datagram"]
    name: str
    duration_s: float
    links: tuple[tuple[str, str], ...]
    bottleneck: tuple[str, str]
    bottleneck_kbps: float
    other_kbps: float
    clients_of_broker: int
    publishers: int
    publish_rate_msgs_per_s: float
    attributes: int
    values: int
    zipf_exponent: float
    constraints_weights: tuple[float, ...]
    law: Law = "improved"
    detection: Detection = "flow"

    @property
    def policy(self) -> Policy:
        """The policy of the clients of ``penstock run``."""
        return named(self.law, self.detection)

    @property
    def brokers(self) -> list[str]:
        """All brokers, sorted by name."""
        return sorted({name for link in self.links for name in link})


class LargeRun(msgspec.Struct, frozen=True):
    """The result of a run; lists have one value per second."""

    wanted: tuple[int, ...]
    received: tuple[int, ...]
    missed: tuple[int, ...]
    published: tuple[int, ...]
    carried_bytes: tuple[int, ...]
    feedback: tuple[int, ...]
    flows: tuple[int, ...]
    mean_delay_s: float
    bottleneck_bytes_per_s: float

    def missed_part(self, from_s: int = 0) -> float:
        """The share of the deliveries behind the bottleneck that failed."""
        return sum(self.missed[from_s:]) / max(1, sum(self.wanted[from_s:]))

    @property
    def utilisation(self) -> float:
        """The used share of the bottleneck."""
        return sum(self.carried_bytes) / len(self.carried_bytes) / self.bottleneck_bytes_per_s

    @property
    def received_messages(self) -> int:
        """Deliveries behind the bottleneck."""
        return sum(self.received)


class Popularity:
    """Zipf-distributed choices."""

    def __init__(self, values: int, exponent: float) -> None:
        weights = [1 / rank**exponent for rank in range(1, values + 1)]
        self._cumulated = [part / sum(weights) for part in accumulate(weights)]

    def draw(self, random: Random) -> int:
        """A value; 0 is the most popular."""
        return min(len(self._cumulated) - 1, bisect(self._cumulated, random.random()))


def load_large() -> LargeScenario:
    """The shipped scenario file."""
    text = files("penstock.papers").joinpath("scenarios", "datagram-large.toml").read_bytes()
    return msgspec.toml.decode(text, type=LargeScenario)


class LargeSimulation:
    """One run."""

    def __init__(self, scenario: LargeScenario, policy: Policy, seed: int) -> None:
        """Set up everything at the start of the run."""
        self.scenario = scenario
        self.world = SimWorld(seed)
        self.began = self.world.now + SETTLING_NS
        self._seed = seed
        self._parameters = DatagramParameters(law=policy.law, detection=policy.detection)
        self._popularity = Popularity(scenario.values, scenario.zipf_exponent)
        self._behind = SelectorIndex()
        self._wanted: Counter[int] = Counter()
        self._published: Counter[int] = Counter()
        self._samples: list[tuple[int, int, int]] = []
        self._brokers()
        self._publishers = [self._publisher(each) for each in range(scenario.publishers)]
        self._subscribers = self._make_subscribers()

    def _brokers(self) -> None:
        scenario = self.scenario
        for name in scenario.brokers:
            neighbours = {
                other: 1
                for link in scenario.links
                if name in link
                for other in link
                if other != name
            }
            self.world.add_broker(node_config(name, neighbours, trace_interval_ns=0))
        for first, second in scenario.links:
            kbps = scenario.other_kbps
            if (first, second) == scenario.bottleneck:
                kbps = scenario.bottleneck_kbps
            model = LinkModel(
                bandwidth_bytes_per_s=round(kbps * 125),
                best_effort_queue_messages=QUEUE_MESSAGES,
                best_effort_bytes=MESSAGE_BYTES,
            )
            self.world.add_link(first, second, model)

    def _publisher(self, number: int) -> PacedDatagramPublisher:
        scenario, name = self.scenario, f"publisher-{number + 1}"
        rate = RatePoint(0.0, scenario.publish_rate_msgs_per_s)
        publisher = PacedDatagramPublisher(
            name,
            self._parameters,
            RatePlan((rate,), self.began),
            self._message,
            random_stream(self._seed, name, "messages"),
            self._sent,
            start_at=self.began,
            stop_at=self.began + seconds(scenario.duration_s),
        )
        access = LinkModel(latency_ns=MILLISECOND, jitter_ns=JITTER_NS)
        self.world.add_client(name, publisher, scenario.bottleneck[0], access)
        return publisher

    def _message(self, random: Random) -> dict[str, Attribute]:
        return {
            f"a{each}": self._popularity.draw(random) for each in range(self.scenario.attributes)
        }

    def _make_subscribers(self) -> list[CountingDatagramSubscriber]:
        """Create the subscribers; returns those behind the bottleneck."""
        scenario = self.scenario
        random = random_stream(self._seed, "filters")
        behind: list[CountingDatagramSubscriber] = []
        for broker in scenario.brokers:
            near = broker == scenario.bottleneck[0]
            for number in range(scenario.clients_of_broker - (scenario.publishers if near else 0)):
                name, selector = f"{broker}-{number}", self._filter(random)
                subscriber = CountingDatagramSubscriber(
                    name, self._parameters, (selector,), bucket_ns=BUCKET_NS, began=self.began
                )
                self.world.add_client(name, subscriber, broker)
                if not near:
                    self._behind.add(len(behind), parse(selector))
                    behind.append(subscriber)
        return behind

    def _filter(self, random: Random) -> str:
        scenario = self.scenario
        count = random.choices(
            range(1, len(scenario.constraints_weights) + 1), scenario.constraints_weights
        )[0]
        chosen = sorted(random.sample(range(scenario.attributes), count))
        return " AND ".join(f"a{each} = {self._popularity.draw(random)}" for each in chosen)

    def _sent(self, publication: Publication) -> None:
        bucket = (publication.sent_at - self.began) // BUCKET_NS
        self._published[bucket] += 1
        self._wanted[bucket] += len(self._behind.match_row(publication.attributes))

    def run(self) -> LargeRun:
        """Run the scenario and return the result."""
        self.world.start()
        self.world.run_until(self.began)
        for second in range(round(self.scenario.duration_s) + 1):
            self.world.run_until(self.began + second * BUCKET_NS)
            control = self._publishers[0].peer.publishing
            link = self.world.links[self.scenario.bottleneck]
            feedback = control.feedback_messages if control is not None else 0
            flows = len(control.table.flows) if control is not None else 0
            self._samples.append((link.sent_bytes, feedback, flows))
        self.world.run_for(SECOND)
        return self._result()

    def _result(self) -> LargeRun:
        by_arrival: Counter[int] = Counter()
        by_sending: Counter[int] = Counter()
        delay_ns = 0
        for subscriber in self._subscribers:
            by_arrival.update(subscriber.by_arrival)
            by_sending.update(subscriber.by_sending)
            delay_ns += subscriber.delay_ns_total
        steps = list(zip(self._samples, self._samples[1:], strict=False))
        every = range(len(steps))
        received = sum(by_arrival.values())
        return LargeRun(
            wanted=tuple(self._wanted[each] for each in every),
            received=tuple(by_arrival[each] for each in every),
            missed=tuple(self._wanted[each] - by_sending[each] for each in every),
            published=tuple(self._published[each] for each in every),
            carried_bytes=tuple(after[0] - before[0] for before, after in steps),
            feedback=tuple(after[1] - before[1] for before, after in steps),
            flows=tuple(after[2] for _, after in steps),
            mean_delay_s=in_seconds(delay_ns) / max(1, received),
            bottleneck_bytes_per_s=self.scenario.bottleneck_kbps * 125,
        )


def simulate_large(policy: Policy, seed: int) -> LargeRun:
    """One run of the shipped scenario."""
    return LargeSimulation(load_large(), policy, seed).run()
