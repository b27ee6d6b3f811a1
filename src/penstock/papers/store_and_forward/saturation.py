"""Experiments 1 to 4 of Figure 4: how much of a saturated broker an alias queue costs.

Nothing may be slower than the brokers, so that the producer and the consumer are processes of their
own that record nothing.  The clients of a scenario share one process and write a history, which
takes them longer for each message than a broker.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.queues import Queue as Mailbox
from typing import Final

import msgspec
import uvloop

from penstock.client.client import connect
from penstock.lab.experiments.experiment import scenario_path
from penstock.lab.scenario.file import load_scenario
from penstock.lab.worlds.net import NetRun

MESSAGES: Final = 1_000_000
"""As many as in the paper's campaigns: several seconds of work even on a fast machine, so that
filling and draining of the pipeline and a few slow syncs do not dominate."""

PAYLOAD_BYTES: Final = 1000
PREFETCH: Final = 8192
GIVE_UP_S: Final = 120.0


class Saturated(msgspec.Struct, frozen=True):
    """One of the experiments: a producer at broker ``one``, a consumer of the queue ``work``."""

    name: str
    scenario: str
    queue: str
    """The queue that the producer sends to; the only difference that an alias queue makes."""
    consumer_at: str


SATURATED: Final = (
    Saturated("1 one server", "queues-one-server", "work", "one"),
    Saturated("2 one server, alias", "queues-one-server", "orders", "one"),
    Saturated("3 two servers", "queues-two-servers", "work@two", "two"),
    Saturated("4 two servers, alias", "queues-two-servers", "orders", "two"),
)
LOST: Final = {"one server": SATURATED[:2], "two servers": SATURATED[2:]}
"""Each direct path, and the one through an alias queue."""


def overhead(seed: int) -> Mapping[str, float]:
    """One round: messages a second by experiment, and the share that is lost, in per cent.

    The order alternates, so that a machine that slows down affects both of a pair.
    """
    order = SATURATED if seed % 2 else SATURATED[::-1]
    with ExitStack() as running:
        urls = {
            name: running.enter_context(brokers(name))
            for name in dict.fromkeys(each.scenario for each in order)
        }
        found = {each.name: rate_msgs_per_s(each, urls[each.scenario]) for each in order}
    for where, (direct, alias) in LOST.items():
        found[where] = 100 * (1 - found[alias.name] / found[direct.name])
    return found


@contextmanager
def brokers(scenario: str) -> Iterator[Mapping[str, str]]:
    """The brokers of a scenario as processes; yields their addresses."""
    loaded = load_scenario(scenario_path(scenario))
    world = NetRun(msgspec.structs.replace(loaded, clients=(), expect=()), seed=1)
    try:
        world.open()
        yield world.urls
    finally:
        world.close()


def rate_msgs_per_s(
    experiment: Saturated, urls: Mapping[str, str], messages: int = MESSAGES
) -> float:
    """Messages a second, from the first send until every acknowledgement is durable."""
    context = get_context("spawn")
    times: Mailbox[float] = context.Queue()
    consumer = context.Process(
        target=_consume, args=(urls[experiment.consumer_at], messages, times), daemon=True
    )
    producer = context.Process(
        target=_produce, args=(urls["one"], experiment.queue, messages, times), daemon=True
    )
    try:
        consumer.start()
        times.get(timeout=GIVE_UP_S)
        producer.start()
        began = times.get(timeout=GIVE_UP_S)
        return messages / (times.get(timeout=GIVE_UP_S) - began)
    finally:
        for each in (producer, consumer):
            if each.pid is not None:
                each.terminate()
                each.join()


def _produce(url: str, queue: str, messages: int, times: Mailbox[float]) -> None:
    """The producer's process: tells when it begins."""

    async def work() -> None:
        payload = bytes(PAYLOAD_BYTES)
        async with connect(url) as client:
            sender = client.queues.sender(queue)
            times.put(time.time())
            for number in range(messages):
                await sender.send({"n": number}, payload)
            await sender.flush()

    uvloop.run(work())


def _consume(url: str, messages: int, times: Mailbox[float]) -> None:
    """The consumer's process: tells when it is ready, and when all is acknowledged durably."""

    async def work() -> None:
        async with (
            connect(url) as client,
            client.queues.receive("work", prefetch=PREFETCH) as receiver,
        ):
            times.put(time.time())
            left = messages
            async for batch in receiver.batches():
                for message in batch:
                    message.ack()
                left -= len(batch)
                if left <= 0:
                    break
            await receiver.flush()
            times.put(time.time())

    uvloop.run(work())
