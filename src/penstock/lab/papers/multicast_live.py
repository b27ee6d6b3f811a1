"""The paper's live experiments as processes on this machine: Emulab's scenarios 1 and 2, and the
chain of the CAIRN section.

Brokers are processes, links are TCP connections with a bandwidth limit, clients use the public
library.  Loopback has no latency to speak of; everything else is as in Section VIII.  Rates are
those of messages of 1000 bytes on the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import uvloop

from penstock.client.client import Client, connect
from penstock.client.groups import Group, GroupSender
from penstock.client.publish_limits import PublishLimits
from penstock.content.batch import Batch
from penstock.lab.papers.multicast_machines import payload_bytes
from penstock.lab.papers.multicast_scenario import PACKET_BYTES, MulticastScenario, load
from penstock.lab.papers.table import PaperRow, at_least, at_most, row, within
from penstock.multicast.parameters import Law, MulticastParameters
from penstock.net.config import BrokerConfig, NeighbourConfig
from penstock.net.config_file import write_config
from penstock.net.process import BrokerProcess, free_port

SERVICE: Final = "multicast"
LAWS: Final[tuple[Law, ...]] = ("paper", "improved")
WARM_UP_S: Final = 8.0
MEASURED_S: Final = 20.0
UNRECEIPTED_BYTES: Final = 100_000
"""What a greedy client keeps at its broker: one message is always waiting."""

LIMITS: Final = PublishLimits(batch_rows=1, linger_ns=0, window_bytes=UNRECEIPTED_BYTES)

Progress = Callable[[str], None]
Rates = dict[str, list[float]]
"""Mbit/s of each client, by class."""


def live_rows(out: Path, progress: Progress) -> list[PaperRow]:
    """Everything that is shown live."""
    measured: dict[tuple[str, Law], Rates] = {}
    with TemporaryDirectory(prefix="penstock-multicast-") as name:
        for scenario in ("1", "2", "cairn"):
            for law in LAWS:
                directory = Path(name) / f"{scenario}-{law}"
                rates = run_live(load(f"multicast-{scenario}"), law, directory)
                measured[scenario, law] = rates
                shown = ", ".join(f"{each} {sum(of):.3f}" for each, of in rates.items())
                progress(f"{scenario}, {law} law: {shown} Mbit/s")
    return _rows(measured)


def run_live(scenario: MulticastScenario, law: Law, directory: Path) -> Rates:
    """One scenario under one law; what every client sent."""
    with overlay(scenario, law, directory) as urls:
        return uvloop.run(_measure(scenario, urls))


@contextmanager
def overlay(scenario: MulticastScenario, law: Law, directory: Path) -> Iterator[dict[str, str]]:
    """The brokers of a scenario as processes; gives the address of each."""
    directory.mkdir(parents=True, exist_ok=True)
    ports = {name: free_port() for name in scenario.brokers}
    neighbours: dict[str, dict[str, NeighbourConfig]] = {name: {} for name in ports}
    for link in scenario.links:
        for here, there in (link.ends, (link.ends[1], link.ends[0])):
            neighbours[here][there] = NeighbourConfig(
                f"127.0.0.1:{ports[there]}",
                cost=round(link.latency_ms),
                bandwidth_bytes_per_s=round(link.mbit_per_s * 125_000),
            )
    with ExitStack() as running:
        for name, port in ports.items():
            config = BrokerConfig(
                name,
                str(directory / name),
                listen=f"127.0.0.1:{port}",
                pubends=0,
                neighbours=neighbours[name],
                multicast=MulticastParameters(law=law),
            )
            path = directory / f"{name}.toml"
            write_config(path, config)
            running.enter_context(BrokerProcess(path, directory / f"{name}.log"))
        yield {name: f"penstock://127.0.0.1:{port}" for name, port in ports.items()}


async def _measure(scenario: MulticastScenario, urls: dict[str, str]) -> Rates:
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
        await asyncio.sleep(MEASURED_S)
        after = {key: each.confirmed for key, each in greedy.items()}
        measured_s = asyncio.get_running_loop().time() - began
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Nobody waits for the receipts of what is still under way.
        connected.pop_all()
    factor = PACKET_BYTES * 8e-6 / measured_s
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
    """A client that always has something to send."""

    def __init__(self, sender: GroupSender) -> None:
        self._sender = sender
        self._payload = bytes(payload_bytes(sender.name, tuple(sender.pubend.split())))
        self._weight = Batch.from_rows([({}, self._payload)]).wire_size
        self._sent = 0

    @property
    def confirmed(self) -> float:
        """How many messages have their receipt."""
        return self._sent - self._sender.unconfirmed_bytes / self._weight

    async def send(self) -> None:
        """As much as there is room for."""
        while True:
            await self._sender.send(None, self._payload, deadline_s=120)
            self._sent += 1


async def _read(group: Group) -> None:
    while await group.next_batch() is not None:
        pass


# -- the table -------------------------------------------------------------------------------------


def _rows(measured: dict[tuple[str, Law], Rates]) -> list[PaperRow]:
    def both(
        scenario: str,
        run: str,
        metric: str,
        unit: str,
        of: Callable[[Rates], float],
        **more: object,
    ) -> PaperRow:
        return row(
            SERVICE,
            run,
            metric,
            unit,
            paper_law=[of(measured[scenario, "paper"])],
            improved_law=[of(measured[scenario, "improved"])],
            **more,  # type: ignore[arg-type]
        )

    def sends(name: str, capacity: float) -> Callable[[Rates], float]:
        return lambda rates: 100 * sum(rates[name]) / capacity

    def unequal(first: str, second: str) -> Callable[[Rates], float]:
        def percent(rates: Rates) -> float:
            one, two = sum(rates[first]), sum(rates[second])
            return 100 * abs(one - two) / (one + two)

        return percent

    share = "of the link"
    live = "(live)"
    near = within(96, 101)
    return [
        both(
            "1",
            f"1: two bottlenecks {live}",
            f"S_acfg {share}",
            "%",
            sends("acfg", 2.0),
            paper="96 (1.9 of 1.91 … 2)",
            bar=near,
        ),
        both(
            "1",
            f"1: two bottlenecks {live}",
            f"S_cdg {share}",
            "%",
            sends("cdg", 1.0),
            paper="96 (0.904 of 0.94)",
            bar=near,
        ),
        both(
            "2",
            f"2: fair share {live}",
            f"both {share}",
            "%",
            lambda rates: 100 * (sum(rates["acfg"]) + sum(rates["cdg"])) / 2.0,
            paper="about 96",
            bar=at_least(96),
        ),
        both(
            "2",
            f"2: fair share {live}",
            "difference between the classes",
            "%",
            unequal("acfg", "cdg"),
            paper="fairly shared",
            bar=at_most(5),
        ),
        both(
            "cairn",
            f"chain of five {live}",
            f"S1 {share}",
            "%",
            sends("S1", 1.5),
            paper="86 … 99",
            bar=at_least(86),
            stretch=at_least(96),
        ),
        both(
            "cairn",
            f"chain of five {live}",
            f"S2 and S3 {share}",
            "%",
            lambda rates: 100 * (sum(rates["S2"]) + sum(rates["S3"])) / 1.3,
            paper="86 … 99",
            bar=at_least(86),
            stretch=at_least(96),
        ),
        both(
            "cairn",
            f"chain of five {live}",
            "difference between S2 and S3",
            "%",
            unequal("S2", "S3"),
            paper="1.7 (0.618, 0.640)",
            bar=at_most(5),
            stretch=at_most(1),
            note="one run; the paper's law varies between runs, on both sides of the bar",
        ),
    ]
