"""The paper's live experiments as processes on this machine: Emulab's scenarios 1 and 2, and the
chain of the CAIRN section.

Brokers are processes, links are TCP connections with a bandwidth limit, clients use the public
library.  Loopback has almost no latency; everything else is as in Section VIII.  Rates are those of
messages of 1000 bytes on the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Final

import uvloop

from penstock.client.client import Client, connect
from penstock.client.groups.group import Group
from penstock.client.groups.sender import GroupSender
from penstock.client.publishing.limits import PublishLimits
from penstock.content.rows.batch import Batch
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.papers.cost_benefit.machines import payload_bytes
from penstock.papers.cost_benefit.scenario import (
    PACKET_BYTES,
    UNACKNOWLEDGED_PACKETS,
    MulticastScenario,
)
from penstock.services.multicast.parameters import Law, MulticastParameters, PaperLaw

WARM_UP_S: Final = 8.0
MEASURED_S: Final = 20.0
PAPER: Final = PaperLaw(unacknowledged_packets=UNACKNOWLEDGED_PACKETS)
"""A limited link holds nothing unacknowledged, so the unpriced part must be configured."""

UNRECEIPTED_BYTES: Final = 100_000
"""Messages that a greedy client keeps at its broker, so that one is always waiting."""

LIMITS: Final = PublishLimits(batch_rows=1, linger_ns=0, window_bytes=UNRECEIPTED_BYTES)

Rates = dict[str, list[float]]
"""Mbit/s of each client, by class."""


def run_live(
    scenario: MulticastScenario, law: Law, directory: Path, measured_s: float = MEASURED_S
) -> Rates:
    """Run one scenario under one law; returns the rate of every client."""
    with overlay(scenario, law, directory) as urls:
        return uvloop.run(_measure(scenario, urls, measured_s))


@contextmanager
def overlay(scenario: MulticastScenario, law: Law, directory: Path) -> Iterator[dict[str, str]]:
    """Run the brokers of a scenario as processes; yields their addresses."""
    directory.mkdir(parents=True, exist_ok=True)
    ports = {name: free_port() for name in scenario.brokers}
    neighbours: dict[str, dict[str, NeighbourConfig]] = {name: {} for name in ports}
    for link in scenario.links:
        for here, there in (link.ends, (link.ends[1], link.ends[0])):
            neighbours[here][there] = NeighbourConfig(
                f"127.0.0.1:{ports[there]}",
                cost=link.cost,
                bandwidth_bytes_per_s=round(link.mbit_per_s * 125_000),
            )
    with ExitStack() as running:
        for name, port in ports.items():
            config = broker_config(
                name,
                str(directory / name),
                listen=f"127.0.0.1:{port}",
                pubends=0,
                neighbours=neighbours[name],
                multicast=MulticastParameters(law=law, paper=PAPER),
            )
            path = directory / f"{name}.toml"
            write_config(path, config)
            running.enter_context(BrokerProcess(path, directory / f"{name}.log"))
        yield {name: f"penstock://127.0.0.1:{port}" for name, port in ports.items()}


async def _measure(scenario: MulticastScenario, urls: dict[str, str], measured_s: float) -> Rates:
    greedy: dict[tuple[str, int], _Greedy] = {}
    async with AsyncExitStack() as connected:
        clients: dict[str, Client] = {}
        tasks: list[asyncio.Task[None]] = []
        for group, brokers in scenario.groups.items():
            for broker in brokers:
                member = await connected.enter_async_context(
                    connect(urls[broker], name=f"{group}-{broker}")
                )
                joined = await connected.enter_async_context(member.group(group))
                tasks.append(asyncio.create_task(_read(joined)))
                clients[broker] = member
        await _known_everywhere(scenario, urls)
        for plan in scenario.senders:
            for number in range(plan.clients):
                client = await connected.enter_async_context(
                    connect(urls[plan.broker], name=f"{plan.name}-{number}")
                )
                sender = client.groups.sender(*plan.groups, limits=LIMITS)
                each = greedy[plan.name, number] = _Greedy(sender)
                tasks.append(asyncio.create_task(each.send()))
        await asyncio.sleep(WARM_UP_S)
        before = {key: each.confirmed for key, each in greedy.items()}
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(measured_s)
        after = {key: each.confirmed for key, each in greedy.items()}
        elapsed_s = asyncio.get_running_loop().time() - began
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # The receipts of messages in flight are not awaited.
        connected.pop_all()
    factor = PACKET_BYTES * 8e-6 / elapsed_s
    return {
        plan.name: [
            factor * (after[plan.name, number] - before[plan.name, number])
            for number in range(plan.clients)
        ]
        for plan in scenario.senders
    }


async def _known_everywhere(scenario: MulticastScenario, urls: dict[str, str]) -> None:
    """Wait until the senders' brokers know all members."""
    for broker in {plan.broker for plan in scenario.senders}:
        async with connect(urls[broker]) as client:
            async with asyncio.timeout(30):
                while True:
                    known = await client.groups.members()
                    if all(
                        len(known.get(group, ())) == len(brokers)
                        for group, brokers in scenario.groups.items()
                    ):
                        break
                    await asyncio.sleep(0.05)


class _Greedy:
    """A client that always has a message to send."""

    def __init__(self, sender: GroupSender) -> None:
        self._sender = sender
        self._payload = bytes(payload_bytes(sender.name, tuple(sender.pubend.split())))
        self._weight = Batch.from_rows([({}, self._payload)]).wire_size
        self._sent = 0

    @property
    def confirmed(self) -> float:
        """The number of messages with a receipt."""
        return self._sent - self._sender.unconfirmed_bytes / self._weight

    async def send(self) -> None:
        """Send as long as the window has space."""
        while True:
            await self._sender.send(None, self._payload, deadline_s=120)
            self._sent += 1


async def _read(group: Group) -> None:
    while await group.next_batch() is not None:
        pass
