"""The clients of the live experiments with datagrams, each in its own process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.queues import Queue as Mailbox
from typing import Final

import msgspec
import uvloop

from penstock.client.client import connect
from penstock.content.codec.datagram import datagram_of, encode_message
from penstock.core.clock import SECOND
from penstock.core.randomness import random_stream
from penstock.papers.content_aware.scenario import DatagramScenario, Pair, Policy
from penstock.papers.content_aware.simulation import WANTED, message_maker, selector_of
from penstock.services.datagram.messages import FlowTag, Publication
from penstock.services.datagram.subscriber.publication_record import ENCODING_BYTES
from penstock.sim.udp_workload import RatePlan

START_WITHIN_S: Final = 60.0
LEAD_S: Final = 3.0
"""All clients begin at an agreed instant, this long after they are ready."""

TICK_S: Final = 0.002
"""How often a publisher sends what is due."""

FAREWELL_S: Final = 2.0
"""Time at the end for waiting messages to be sent and to arrive."""

BUCKET_S: Final = 0.25


Counts = tuple[tuple[int, ...], int]
"""Messages received in each bucket, and afterwards."""


class LivePair(msgspec.Struct, frozen=True):
    """The counts of one publisher and its subscriber."""

    sent_messages: int
    received: tuple[int, ...]
    late_messages: int = 0
    """Messages that arrived after the end: not lost, and part of no rate."""


class LiveRun(msgspec.Struct, frozen=True):
    """One run."""

    pairs: tuple[LivePair, ...]

    @property
    def received_messages(self) -> int:
        """Deliveries of all pairs during the run."""
        return sum(sum(pair.received) for pair in self.pairs)

    @property
    def missed_messages(self) -> int:
        """Wanted messages that were sent and did not arrive."""
        came = self.received_messages + sum(pair.late_messages for pair in self.pairs)
        return sum(pair.sent_messages for pair in self.pairs) - came

    @property
    def bucket_s(self) -> float:
        """The length of a bucket."""
        return BUCKET_S

    def received_by(self, pair: int) -> tuple[int, ...]:
        """The messages that a subscriber received, by bucket."""
        return self.pairs[pair].received

    def rate_msgs_per_s(self, pair: int, from_s: float, to_s: float) -> float:
        """The rate that a subscriber received between two times."""
        received = self.pairs[pair].received
        some = received[round(from_s / BUCKET_S) : round(to_s / BUCKET_S)]
        return sum(some) / (to_s - from_s)


def payload_for(message_bytes: int, record_messages: int, *, controlled: bool) -> bytes:
    """A payload with which a message has this size on the wire, with the tag of its flow.

    Without control there are no tags, and the payload is larger by their size: otherwise the same
    link would carry an eighth more messages without control than with it.
    """
    tags = (FlowTag("subscriber-1@far", 1, 100_000, 10_000_000),) if controlled else ()
    attributes: dict[str, str | int | float | bool] = {"pair": 0, "kind": WANTED}
    record = bytes(ENCODING_BYTES * record_messages)
    sample = Publication(
        "publisher-1@near", time.time_ns(), 100_000, time.time_ns(), 1000.0, record, tags,
        attributes, b"",
    )  # fmt: skip
    return bytes(max(0, message_bytes - len(datagram_of([encode_message(sample)]))))


class _Role(msgspec.Struct, frozen=True):
    scenario: DatagramScenario
    policy: Policy
    url: str
    pair: int

    @property
    def spec(self) -> Pair:
        return self.scenario.pairs[self.pair]


def publish(role: _Role, ready: Mailbox[int], begin: Mailbox[float], sent: Mailbox[int]) -> None:
    """A publisher's process; reports at the end how many wanted messages it has sent."""

    async def work() -> None:
        parameters = role.policy.parameters(role.scenario)
        payload = payload_for(
            role.scenario.message_bytes,
            role.scenario.record_messages,
            controlled=parameters.law != "none",
        )
        random = random_stream(1, f"publisher-{role.pair}", "messages")
        make = message_maker(role.pair, role.spec.matching)
        name = f"publisher-{role.pair + 1}"
        async with (
            connect(role.url) as client,
            client.datagram(name, parameters=parameters) as datagrams,
        ):
            ready.put(role.pair)
            began = begin.get()
            plan = RatePlan(role.spec.rate_msgs_per_s, round(began * SECOND))
            due, wanted = began, 0
            ends = began + role.scenario.duration_s
            while due < ends:
                now = time.time()
                while due <= now and due < ends:
                    attributes = make(random)
                    taken = datagrams.try_publish(attributes, payload)
                    wanted += taken and attributes["kind"] == WANTED
                    due += 1 / plan.rate_at(round(due * SECOND))
                await asyncio.sleep(TICK_S)
            await asyncio.sleep(FAREWELL_S)
            waiting = sum(flow.waiting_messages for flow in datagrams.why().flows)
            sent.put(wanted - waiting)

    uvloop.run(work())


def subscribe(
    role: _Role, ready: Mailbox[int], begin: Mailbox[float], counts: Mailbox[Counts]
) -> None:
    """A subscriber's process; reports at the end its messages in each bucket, and afterwards."""

    async def work() -> None:
        buckets = round(role.scenario.duration_s / BUCKET_S)
        received, late = [0] * buckets, 0
        async with (
            connect(role.url) as client,
            client.datagram(
                f"subscriber-{role.pair + 1}",
                publishes=False,
                parameters=role.policy.parameters(role.scenario),
            ) as datagrams,
            datagrams.subscribe(selector_of(role.pair)) as subscription,
        ):
            ready.put(role.pair)
            began = begin.get()
            ends_in_s = began + role.scenario.duration_s + FAREWELL_S - time.time()
            try:
                async with asyncio.timeout(ends_in_s):
                    async for _ in subscription:
                        bucket = int((time.time() - began) / BUCKET_S)
                        if bucket < buckets:
                            received[max(0, bucket)] += 1
                        else:
                            late += 1
            except TimeoutError:
                counts.put((tuple(received), late))

    uvloop.run(work())


def run_clients(
    scenario: DatagramScenario,
    policy: Policy,
    near_url: str,
    far_url: str,
    link: str,
    on_begin: Callable[[float], None] = lambda began: None,
) -> LiveRun:
    """Start all clients, change the bottleneck according to the scenario, and collect the counts.

    ``on_begin`` receives the common start, as a time of day in the near future.
    """
    context = get_context("spawn")
    ready: Mailbox[int] = context.Queue()
    begins: list[Mailbox[float]] = []
    results: list[tuple[Mailbox[int], Mailbox[Counts]]] = []
    processes = []
    for pair in range(len(scenario.pairs)):
        sent: Mailbox[int] = context.Queue()
        counts: Mailbox[Counts] = context.Queue()
        results.append((sent, counts))
        for work, url, answers in ((publish, near_url, sent), (subscribe, far_url, counts)):
            begin: Mailbox[float] = context.Queue()
            begins.append(begin)
            role = _Role(scenario, policy, url, pair)
            processes.append(
                context.Process(target=work, args=(role, ready, begin, answers), daemon=True)
            )
    try:
        for process in processes:
            process.start()
        for _ in processes:
            ready.get(timeout=START_WITHIN_S)
        began = time.time() + LEAD_S
        for begin in begins:
            begin.put(began)
        on_begin(began)
        asyncio.run(_change_bandwidth(scenario, near_url, link, began))
        patience_s = scenario.duration_s + START_WITHIN_S
        return LiveRun(
            tuple(
                LivePair(sent.get(timeout=patience_s), *counts.get(timeout=patience_s))
                for sent, counts in results
            )
        )
    finally:
        for process in processes:
            process.terminate()
            process.join()


async def _change_bandwidth(scenario: DatagramScenario, url: str, link: str, began: float) -> None:
    async with connect(url) as client:
        for step in scenario.bandwidth[1:]:
            await asyncio.sleep(max(0.0, began + step.at_s - time.time()))
            await client.control_link(link, bandwidth_bytes_per_s=round(step.kbps * 125))
