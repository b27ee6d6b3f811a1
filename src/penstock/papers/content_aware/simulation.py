"""The experiments of the content-aware paper in the simulator.

Two brokers and the bottleneck between them (Figure 6); each publisher and each subscriber has its
own access link.  The real broker and client machines run; only the network is modelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from penstock.core.clock import MILLISECOND, SECOND, Duration, milliseconds, seconds
from penstock.core.randomness import random_stream
from penstock.overlay.node import node_config
from penstock.papers.content_aware.result import DatagramRun, PairRun
from penstock.papers.content_aware.scenario import DatagramScenario, Policy
from penstock.services.datagram.messages import Attribute, Publication
from penstock.sim.drop_tail_hop import DropTailHop, HopModel
from penstock.sim.link import LinkModel
from penstock.sim.newreno import NewRenoFlow
from penstock.sim.udp_workload import (
    CountingDatagramSubscriber,
    PacedDatagramPublisher,
    RatePlan,
)
from penstock.sim.world import SimWorld

BUCKET_NS: Duration = 250 * MILLISECOND
"""The length of a bucket."""

SETTLING_NS: Duration = SECOND
"""Time for subscriptions to be in force everywhere before the first message."""

NEAR, FAR = "near", "far"
WANTED, OTHER = "wanted", "other"


def selector_of(pair: int) -> str:
    """The selector of the subscriber of a pair."""
    return f"pair = {pair} AND kind = '{WANTED}'"


def message_maker(pair: int, matching: float) -> Callable[[Random], dict[str, Attribute]]:
    """The messages of the publisher of a pair."""

    def make(random: Random) -> dict[str, Attribute]:
        kind = WANTED if random.random() < matching else OTHER
        return {"pair": pair, "kind": kind}

    return make


class Simulation:
    """One run."""

    def __init__(self, scenario: DatagramScenario, policy: Policy, seed: int) -> None:
        """Set up everything at the start of the run."""
        self.scenario = scenario
        self.world = SimWorld(seed)
        self.began = self.world.now + SETTLING_NS
        self.ends = self.began + seconds(scenario.duration_s)
        self.sent: list[Counter[int]] = [Counter() for _ in scenario.pairs]
        self.published: Counter[int] = Counter()
        self.carried: Counter[int] = Counter()
        self.tcp_delivered: Counter[int] = Counter()
        self._seed = seed
        self._parameters = policy.parameters(scenario)
        self._brokers()
        self.publishers = [self._publisher(each) for each in range(len(scenario.pairs))]
        self.subscribers = [
            self._subscriber(f"subscriber-{each + 1}", selector_of(each), FAR)
            for each in range(len(scenario.pairs))
        ]
        self.near_subscriber: CountingDatagramSubscriber | None = None
        if scenario.near_subscriber:
            self.near_subscriber = self._subscriber("near", f"pair = 0 AND kind = '{OTHER}'", NEAR)
        self._tcp = self._tcp_flow()

    def _brokers(self) -> None:
        scenario = self.scenario
        for name, neighbour in ((NEAR, FAR), (FAR, NEAR)):
            self.world.add_broker(node_config(name, {neighbour: 1}, trace_interval_ns=0))
        self.world.add_link(
            NEAR,
            FAR,
            LinkModel(
                bandwidth_bytes_per_s=_bytes_per_s(scenario.bandwidth[0].kbps),
                latency_ns=milliseconds(scenario.latency_ms),
                best_effort_queue_messages=scenario.queue_messages,
                best_effort_bytes=scenario.message_bytes,
            ),
        )

    def _publisher(self, pair: int) -> PacedDatagramPublisher:
        scenario = self.scenario
        spec = scenario.pairs[pair]
        publisher = PacedDatagramPublisher(
            f"publisher-{pair + 1}",
            self._parameters,
            RatePlan(spec.rate_msgs_per_s, self.began),
            message_maker(pair, spec.matching),
            random_stream(self._seed, f"publisher-{pair}", "messages"),
            lambda publication: self._sent(pair, publication),
            start_at=self.began,
            stop_at=self.ends,
        )
        access = LinkModel(latency_ns=MILLISECOND, jitter_ns=milliseconds(scenario.jitter_ms))
        self.world.add_client(f"publisher-{pair + 1}", publisher, NEAR, access)
        return publisher

    def _subscriber(self, name: str, selector: str, broker: str) -> CountingDatagramSubscriber:
        subscriber = CountingDatagramSubscriber(
            name, self._parameters, (selector,), bucket_ns=BUCKET_NS, began=self.began
        )
        self.world.add_client(name, subscriber, broker)
        return subscriber

    def _tcp_flow(self) -> NewRenoFlow | None:
        tcp = self.scenario.tcp
        if tcp is None:
            return None
        model = HopModel(latency_ns=MILLISECOND, jitter_ns=milliseconds(self.scenario.jitter_ms))
        access = DropTailHop(model, self.world.scheduler, random_stream(self._seed, "tcp"))
        return NewRenoFlow(
            self.world.scheduler,
            [access, self.world.links[NEAR, FAR]],
            [self.world.links[FAR, NEAR]],
            segment_bytes=tcp.segment_bytes,
        )

    def _sent(self, pair: int, publication: Publication) -> None:
        bucket = (publication.sent_at - self.began) // BUCKET_NS
        self.published[bucket] += 1
        if publication.attributes["kind"] == WANTED:
            self.sent[pair][bucket] += 1

    # -- running ----------------------------------------------------------------------------

    def run(self) -> DatagramRun:
        """Run the scenario and return the result."""
        world, scenario = self.world, self.scenario
        world.start()
        for step in scenario.bandwidth[1:]:
            at = self.began + seconds(step.at_s)
            world.scheduler.at(at, world.set_bandwidth, NEAR, FAR, _bytes_per_s(step.kbps))
        if self._tcp is not None and scenario.tcp is not None:
            world.scheduler.at(self.began + seconds(scenario.tcp.start_s), self._tcp.start)
        world.run_until(self.began)
        self._measure(world.links[NEAR, FAR].sent_bytes, 0, 0)
        world.run_until(self.ends + SECOND)
        return self._result()

    def _measure(self, bytes_before: int, tcp_before: int, bucket: int) -> None:
        """Record, at the end of each bucket, what the bottleneck has carried in it."""
        link = self.world.links[NEAR, FAR]
        tcp = 0 if self._tcp is None else self._tcp.delivered_bytes
        if bucket:
            self.carried[bucket - 1] = link.sent_bytes - bytes_before
            self.tcp_delivered[bucket - 1] = tcp - tcp_before
        at = self.began + (bucket + 1) * BUCKET_NS
        self.world.scheduler.at(at, self._measure, link.sent_bytes, tcp, bucket + 1)

    def _result(self) -> DatagramRun:
        buckets = range(seconds(self.scenario.duration_s) // BUCKET_NS)
        pairs: list[PairRun] = []
        for sent, subscriber in zip(self.sent, self.subscribers, strict=True):
            pairs.append(
                PairRun(
                    sent=tuple(sent[each] for each in buckets),
                    received=tuple(subscriber.by_arrival[each] for each in buckets),
                    missed=tuple(sent[each] - subscriber.by_sending[each] for each in buckets),
                    delay_ns_total=subscriber.delay_ns_total,
                    refused=self.publishers[len(pairs)].refused_messages,
                )
            )
        return DatagramRun(
            bucket_ns=BUCKET_NS,
            message_bytes=self.scenario.message_bytes,
            published=tuple(self.published[each] for each in buckets),
            carried_bytes=tuple(self.carried[each] for each in buckets),
            tcp_bytes=tuple(self.tcp_delivered[each] for each in buckets),
            near_received=tuple(
                0 if self.near_subscriber is None else self.near_subscriber.by_arrival[each]
                for each in buckets
            ),
            pairs=tuple(pairs),
        )


def _bytes_per_s(kbps: float) -> int:
    return round(kbps * 1000 / 8)


def simulate(scenario: DatagramScenario, policy: Policy, seed: int) -> DatagramRun:
    """One run of a scenario."""
    return Simulation(scenario, policy, seed).run()
