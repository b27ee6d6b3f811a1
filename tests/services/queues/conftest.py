"""Small simulated sites with queues, and a record of what every consumer was handed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.core.randomness import random_stream
from penstock.overlay.node import node_config
from penstock.papers.store_and_forward.workload import RatedConsumer, RatedProducer
from penstock.services.queues.messages import Deliver
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.sim.link import LinkModel
from penstock.sim.world import EPOCH, SimWorld


class Sites:
    """A home broker with an alias queue, and sites with a work queue and a consumer each."""

    def __init__(
        self,
        seed: int,
        *,
        sites: tuple[str, ...] = ("east", "west"),
        parameters: QueueParameters | None = None,
        rate: Callable[[Instant], float] = lambda now: 600.0,
        **alias: object,
    ) -> None:
        self.world = SimWorld(seed, checked=True, digested=True)
        self.sites = sites
        self.seen: dict[int, list[tuple[str, bool]]] = {}
        self.consumers: dict[str, RatedConsumer] = {}
        self.producers: list[RatedProducer] = []
        used = parameters or QueueParameters()
        destinations = tuple(f"work@{site}" for site in sites)
        config = AliasConfig("orders", destinations, **alias)  # type: ignore[arg-type]
        neighbours = dict.fromkeys(sites, 1)
        home = node_config(
            "home", neighbours, aliases=(config,), queue_parameters=used, trace_interval_ns=0
        )
        self.world.add_broker(home)
        for site in sites:
            self.world.add_broker(
                node_config(
                    site,
                    {"home": 1},
                    queues=(QueueConfig("work", max_deliveries=1000),),
                    queue_parameters=used,
                    trace_interval_ns=0,
                )
            )
            self.world.add_link("home", site, LinkModel(latency_ns=MILLISECOND))
            self.add_consumer(f"worker-{site}", site, rate)

    def add_consumer(self, name: str, site: str, rate: Callable[[Instant], float]) -> None:
        """One more consumer."""

        def done(delivery: Deliver) -> None:
            tried = {position for position, _ in delivery.attempts}
            rows = delivery.frame.batch.attribute_rows()
            for position, attributes in zip(delivery.frame.ticks, rows, strict=True):
                again = delivery.recovered or position in tried
                self.seen.setdefault(int(attributes["n"]), []).append((site, again))

        consumer = RatedConsumer(name, "work", rate, prefetch=100, on_done=done)
        self.consumers[name] = consumer
        self.world.add_client(name, consumer, site)

    def produce(self, total: int, *, rate_msgs_per_s: float = 1000.0, run: int = 20) -> None:
        """A producer of numbered messages."""
        name = f"producer-{len(self.producers)}"
        producer = RatedProducer(
            name,
            "orders",
            numbered,
            random_stream(self.world.seed, name),
            rate_msgs_per_s=rate_msgs_per_s,
            run=run,
            total=total,
            start_at=EPOCH + 3 * SECOND,
            jitter_ns=5 * MILLISECOND,
        )
        self.producers.append(producer)
        self.world.add_client(name, producer, "home")

    def finish(self, total: int, *, within_s: int = 300) -> None:
        """Let time pass until everything was consumed."""
        for _ in range(within_s):
            if len(self.seen) == total and self.producers[0].confirmed == total:
                return
            self.world.run_for(SECOND)

    def judge(self, total: int) -> None:
        """Nothing lost; every message in one queue only; what comes twice says so; nothing left."""
        self.judge_messages(total)
        self.world.run_for(10 * SECOND)
        for name, broker in self.world.brokers.items():
            assert broker.node is not None
            for queue in broker.node.services["queues"].queues.values():
                assert queue.rows.entries.rows == queue.rows.doubt.rows == 0, f"left at {name}"
            for alias in broker.node.services["queues"].aliases.values():
                assert alias.rows.entries.rows == 0, f"left at {name}"
                assert all(each.is_done for each in alias.forwarding.destinations)

    def judge_messages(self, total: int) -> None:
        """What the consumers saw."""
        lost = [n for n in range(total) if n not in self.seen]
        assert not lost, f"seed {self.world.seed}: {len(lost)} lost, first {lost[:5]}"
        for n, times in self.seen.items():
            queues = {site for site, _ in times}
            assert len(queues) == 1, f"seed {self.world.seed}: message {n} in queues {queues}"
            unmarked = sum(not again for _, again in times)
            assert unmarked <= 1, f"seed {self.world.seed}: message {n} twice, unmarked"


def numbered(first: int, count: int) -> Batch:
    """Messages that know their number."""
    return Batch.from_rows([({"n": first + each}, b"x" * 100) for each in range(count)])


@pytest.fixture
def sites() -> type[Sites]:
    """The class: a test makes its own."""
    return Sites
