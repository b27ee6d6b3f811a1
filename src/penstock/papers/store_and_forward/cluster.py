"""Broker processes for the live experiments with queues, and clients as separate processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.queues import Queue as Mailbox
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from penstock.client.client import connect
from penstock.client.queues.receiver import Receiver
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.queues.parameters import AliasConfig, QueueConfig

CONNECTED_WITHIN_S: Final = 30.0
PRODUCER_TICK_S: Final = 0.01
"""How often a producer with a rate sends what is due."""

CATCH_UP_S: Final = 0.1
"""The longest delay that a consumer catches up with."""

WORK_ROWS: Final = 10
"""Messages that a consumer with a rate processes before it acknowledges them.  If it acknowledged
only after everything that it prefetched, it would be idle for a round trip to the broker each
time."""


class Site(msgspec.Struct, frozen=True):
    """A broker of an experiment: its queues and its links."""

    queues: tuple[str, ...] = ()
    aliases: tuple[AliasConfig, ...] = ()
    neighbours: tuple[str, ...] = ()


@contextmanager
def cluster(sites: Mapping[str, Site], directory: Path) -> Iterator[dict[str, str]]:
    """Start the brokers; yields their addresses."""
    directory.mkdir(parents=True, exist_ok=True)
    ports = {name: free_port() for name in sites}
    with ExitStack() as running:
        for name, site in sites.items():
            config = broker_config(
                name,
                str(directory / name),
                listen=f"127.0.0.1:{ports[name]}",
                pubends=0,
                neighbours={
                    each: NeighbourConfig(f"127.0.0.1:{ports[each]}") for each in site.neighbours
                },
                queues={each: QueueConfig(each) for each in site.queues},
                aliases={each.name: each for each in site.aliases},
            )
            path = directory / f"{name}.toml"
            write_config(path, config)
            running.enter_context(BrokerProcess(path, directory / f"{name}.log"))
        yield {name: f"penstock://127.0.0.1:{port}" for name, port in ports.items()}


class Producer(msgspec.Struct, frozen=True):
    """Sends a number of messages to a queue, at a rate or (0) as fast as possible."""

    url: str
    queue: str
    messages: int
    payload_bytes: int = 1000
    rate_msgs_per_s: float = 0.0


class Consumer(msgspec.Struct, frozen=True):
    """Consumes messages: ``rates`` are (from second, messages per second); empty means no work.

    One that knows how many messages to expect reports only when all of them are done.
    """

    url: str
    queue: str
    rates: tuple[tuple[float, float], ...] = ()
    prefetch: int = 200
    expected: int = 0


def produce(producer: Producer, times: Mailbox[float], together: Barrier) -> None:
    """A producer's process; begins when all of them are connected, and reports that time."""

    async def work() -> None:
        payload = bytes(producer.payload_bytes)
        async with connect(producer.url) as client:
            sender = client.queues.sender(producer.queue)
            await asyncio.to_thread(together.wait, CONNECTED_WITHIN_S)
            began = time.time()
            times.put(began)
            for number in range(producer.messages):
                if producer.rate_msgs_per_s:
                    ahead_s = began + number / producer.rate_msgs_per_s - time.time()
                    if ahead_s > PRODUCER_TICK_S:
                        await asyncio.sleep(ahead_s)
                await sender.send({"n": number}, payload)
            await sender.flush()

    uvloop.run(work())


def consume(consumer: Consumer, done: Mailbox[tuple[float, int]]) -> None:
    """A consumer's process; reports when its acknowledgements were durable, until terminated."""
    uvloop.run(_consume(consumer, done))


async def _consume(consumer: Consumer, done: Mailbox[tuple[float, int]]) -> None:
    pace = _Pace(consumer.rates)
    acknowledged = 0
    changed = asyncio.Event()

    async def tell(receiver: Receiver) -> None:
        """Concurrent with the work, which does not wait for the disk."""
        told = 0
        while True:
            await changed.wait()
            changed.clear()
            count = acknowledged - told
            await receiver.flush()
            done.put((time.time(), count))
            told += count

    async with (
        connect(consumer.url) as client,
        client.queues.receive(consumer.queue, prefetch=consumer.prefetch) as receiver,
        asyncio.TaskGroup() as beside,
    ):
        done.put((time.time(), 0))
        beside.create_task(tell(receiver))
        async for batch in receiver.batches():
            messages = list(batch)
            at_once = WORK_ROWS if consumer.rates else len(messages)
            for first in range(0, len(messages), at_once):
                some = messages[first : first + at_once]
                await pace.work_on(len(some))
                for message in some:
                    message.ack()
            acknowledged += len(messages)
            if acknowledged >= consumer.expected:
                changed.set()


class _Pace:
    """Works at the rates of a consumer, counted from its first message: all change together."""

    def __init__(self, rates: tuple[tuple[float, float], ...]) -> None:
        self._rates = rates
        self._began = 0.0
        self._due = 0.0

    async def work_on(self, count: int) -> None:
        """Take the working time of this many messages."""
        if not self._rates:
            return
        now = time.time()
        self._began = self._began or now
        rate = [rate for since_s, rate in self._rates if since_s <= now - self._began][-1]
        self._due = max(self._due, now - CATCH_UP_S) + count / rate
        await asyncio.sleep(max(0.0, self._due - now))


def reception_time_s(
    producers: list[Producer], consumers: list[Consumer], give_up_s: float
) -> float:
    """Seconds from the first send until every acknowledgement is durable."""
    context = get_context("spawn")
    times: Mailbox[float] = context.Queue()
    done: Mailbox[tuple[float, int]] = context.Queue()
    working = [context.Process(target=consume, args=(each, done)) for each in consumers]
    together = context.Barrier(len(producers))
    sending = [context.Process(target=produce, args=(each, times, together)) for each in producers]
    total = sum(each.messages for each in producers)
    try:
        for worker in working:
            worker.start()
        for _ in consumers:
            done.get(timeout=CONNECTED_WITHIN_S)
        for sender in sending:
            sender.start()
        began = min(times.get(timeout=CONNECTED_WITHIN_S) for _ in producers)
        last, count = began, 0
        while count < total and last - began < give_up_s:
            last, some = done.get(timeout=give_up_s)
            count += some
        return last - began
    finally:
        for each in [*sending, *working]:
            if each.pid is not None:
                each.terminate()
                each.join()


Progress = Callable[[str], None]
