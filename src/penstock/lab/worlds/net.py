"""A scenario in the network world: real broker processes, sockets and disks on this machine.

1. Every broker is a process with its own data directory; a crash is ``kill -9``.
2. Bandwidth, queue and cuts of a link are those of the brokers themselves (as an operator would set
   them), or the kernel's between network namespaces, depending on the layout.  Latency, jitter and
   loss are those of the machine: the scenario's values apply only in the simulator, and so do the
   duration of a sync and faults of disks and of single connections.
3. Publishers and subscribers are applications of the client library, in this process.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from penstock.client.client import connect
from penstock.core.clock import in_seconds, seconds
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.lab.result import RunResult
from penstock.lab.run import UnsupportedFault
from penstock.lab.scenario.file import guaranteed_parameters
from penstock.lab.scenario.model import Fault, Publishers, Scenario, Subscribers, grown, source_spec
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds.net_clients import NetPublisher, NetSubscriber
from penstock.lab.worlds.net_layout import Layout, Loopback
from penstock.lab.worlds.sim import subscriber_history
from penstock.lab.worlds.traced_broker import COMMAND, read_trace, trace_path
from penstock.net.broker.config import BrokerConfig, NeighbourConfig, TelemetryConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess
from penstock.sim.history import History, PublisherHistory
from penstock.sim.judgement import Judgement, judge
from penstock.sim.message_source import MessageSource
from penstock.sim.workload import Pace

UNSUPPORTED: Final = ("fill_disk", "free_disk", "fail_sync", "damage_log", "drop_client")
CONTROL_WITHIN_S: Final = 10.0

Result = TypeVar("Result")


class NetRun:
    """A scenario's brokers as processes, and its clients."""

    name = "net"

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        telemetry: Telemetry | None = None,
        *,
        directory: Path | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Data goes to ``directory``, or to a temporary one that is removed at the end.

        The brokers run on ``layout``, by default on loopback.

        Raises ``UnsupportedFault`` if the scenario has a fault that only the simulator supports.
        """
        for fault in scenario.faults:
            for kind in fault.kinds:
                if kind in UNSUPPORTED:
                    raise UnsupportedFault(
                        f"scenario {scenario.name!r}: {kind} at {fault.at_s:g} s is not supported "
                        "in the net world; run it with --world sim"
                    )
        self.scenario = scenario
        self.seed = seed
        self.history = History()
        self.telemetry = telemetry or Telemetry()
        self.urls: dict[str, str] = {}
        self._layout = layout or Loopback()
        self._temporary = directory is None
        self._directory = directory or Path(tempfile.mkdtemp(prefix="penstock-run-"))
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._processes: dict[str, BrokerProcess] = {}
        self._clients: dict[str, NetPublisher | NetSubscriber] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._links = {frozenset(link.between): link for link in scenario.links}
        self._bandwidth = {pair: link.bandwidth_bytes_per_s for pair, link in self._links.items()}
        self._cut: set[frozenset[str]] = set()
        self._pubends = {name: scenario.pubends_of(name) for name in scenario.brokers}
        self._started_at = 0
        self._ended_at = 0

    # -- brokers ----------------------------------------------------------------------------

    def open(self) -> None:
        """Start every broker and wait for the links."""
        self._layout.open(self.scenario)
        for name in self.scenario.brokers:
            self.urls[name] = f"penstock://{self._layout.address(name)}"
            path = self._directory / f"{name}.toml"
            write_config(path, self._config(name))
            log = path.with_suffix(".log")
            command = self._layout.command(name, COMMAND)
            self._processes[name] = BrokerProcess(path, log, command)
        for name in self._present():
            self._processes[name].start()
        self._run(self._links_are_up())
        self._started_at = time.time_ns()

    def _config(self, name: str) -> BrokerConfig:
        neighbours = {}
        for link in self.scenario.links:
            if name in link.between:
                other = link.between[0] if link.between[1] == name else link.between[1]
                neighbours[other] = NeighbourConfig(
                    self._layout.neighbour_address(name, other),
                    link.cost,
                    link.bandwidth_bytes_per_s if self._layout.limits_by_broker else 0,
                    link.queue_bytes,
                )
        return broker_config(
            name=name,
            data_dir=str(self._directory / f"{name}.data"),
            listen=self._layout.listen(name),
            pubends=self._pubends[name],
            neighbours=neighbours,
            guaranteed=guaranteed_parameters(self.scenario, name),
            telemetry=TelemetryConfig(interval_s=self.scenario.trace_interval_s),
        )

    def _present(self) -> list[str]:
        """The brokers that exist from the beginning."""
        return [name for name, broker in self.scenario.brokers.items() if not broker.start_s]

    async def _links_are_up(self) -> None:
        """Wait until every broker sees all its neighbours: a run begins with a complete overlay."""
        present = self._present()
        for name in present:
            async with connect(self.urls[name], deadline_s=CONTROL_WITHIN_S) as client:
                while True:
                    links = (await client.status())["links"]
                    if all(link["up"] for other, link in links.items() if other in present):
                        break
                    await asyncio.sleep(0.05)

    # -- time -------------------------------------------------------------------------------

    def run_until(self, at_s: float) -> None:
        """Let real time pass; raises the error of a client that failed."""
        self._run(self._sleep_until(self._started_at + seconds(at_s)))

    async def _sleep_until(self, instant: int) -> None:
        await asyncio.sleep(max(0.0, in_seconds(instant - time.time_ns())))
        for task in self._tasks.values():
            if task.done() and not task.cancelled():
                task.result()

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(coroutine)

    def start_broker(self, broker: str) -> None:
        """Start a broker that was unknown so far."""
        self._run(self._restart(broker))

    # -- clients ----------------------------------------------------------------------------

    def start_publisher(self, publisher: Publishers, stop_s: float) -> None:
        """Connect a publisher, which publishes until ``stop_s``."""
        source = MessageSource(source_spec(self.scenario, publisher), self.seed)
        history = self.history.add_publisher(PublisherHistory(publisher.name, source))
        pace = Pace(
            time.time_ns(),
            self._started_at + seconds(stop_s),
            publisher.rate_msgs_per_s,
            publisher.pattern,
            publisher.batch_rows,
            publisher.messages,
            publisher.max_in_flight,
        )
        random = random_stream(self.seed, publisher.name, "pace")
        url, producer = self.urls[publisher.broker], publisher.producer
        self._run(self._start(NetPublisher(history, pace, random, url, producer=producer)))

    def start_subscriber(self, subscriber: Subscribers) -> None:
        """Connect a subscriber."""
        history = self.history.add_subscriber(subscriber_history(self.scenario, subscriber))
        self._run(self._start(NetSubscriber(history, subscriber, self.urls[subscriber.broker])))

    async def _start(self, client: NetPublisher | NetSubscriber) -> None:
        name = client.history.name
        self._clients[name] = client
        self._tasks[name] = asyncio.get_running_loop().create_task(client.run(), name=name)

    def stop_client(self, name: str) -> None:
        """Stop a client for the rest of the run."""
        if name in self.history.subscribers:
            self.history.subscribers[name].left_at = time.time_ns()
        self._run(self._cancel([self._tasks.pop(name)]))

    @staticmethod
    async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- faults -----------------------------------------------------------------------------

    def strike(self, fault: Fault) -> None:
        """Inject a fault."""
        match fault:
            case Fault(cut=(first, second)):
                self._cut.add(frozenset((first, second)))
                self._run(self._control((first, second)))
            case Fault(mend=(first, second)):
                self._cut.discard(frozenset((first, second)))
                self._run(self._control((first, second)))
            case Fault(bandwidth=change) if change is not None:
                self._bandwidth[frozenset(change.link)] = change.bytes_per_s
                self._run(self._control(change.link))
            case Fault(crash=str(broker)):
                self._processes[broker].kill()
            case Fault(restart=str(broker)) if not self._processes[broker].running:
                self._run(self._restart(broker))
            case Fault(leave=str(client)) | Fault(close=str(client)) if client in self._tasks:
                self._clients[client].leave()
            case Fault(come_back=str(client)) | Fault(reopen=str(client)) if client in self._tasks:
                self._clients[client].come_back()
            case Fault(add_pubend=str(broker)):
                self._run(self._add_pubend(broker))

    async def _restart(self, broker: str) -> None:
        """Restart a broker while the clients continue; its links keep their state."""
        await asyncio.to_thread(self._processes[broker].start)
        for pair, link in self._links.items():
            if broker in pair:
                await self._control(link.between)

    async def _add_pubend(self, broker: str) -> None:
        """Stop a broker, and start it with one more pubend."""
        process = self._processes[broker]
        if process.running:
            await asyncio.to_thread(process.terminate)
        self._pubends[broker] = grown(broker, self._pubends[broker])
        write_config(process.config_path, self._config(broker))
        await self._restart(broker)

    async def _control(self, pair: tuple[str, str]) -> None:
        """Set a link to its current state."""
        key = frozenset(pair)
        await self._layout.set_link(pair, self._bandwidth[key], key in self._cut, self._tell)

    async def _tell(self, here: str, there: str, bandwidth: int, cut: bool) -> None:
        """Tell one end of a link, if it runs."""
        if self._processes[here].running:
            async with connect(self.urls[here], deadline_s=CONTROL_WITHIN_S) as client:
                await client.control_link(there, bandwidth_bytes_per_s=bandwidth, cut=cut)

    # -- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Stop clients and brokers, and collect the telemetry."""
        self._ended_at = time.time_ns()
        self._run(self._cancel(list(self._tasks.values())))
        self._runner.close()
        records: list[TraceRecord] = []
        for process in self._processes.values():
            if process.running:
                process.terminate()
            records += read_trace(trace_path(process.config_path))
        self.telemetry.extend(sorted(records, key=lambda record: record.at))
        self.telemetry.close()
        self._layout.close()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def result(self, judged: Judgement | None = None) -> RunResult:
        """The result; judged again, because closing clients may receive more."""
        return RunResult(
            self.scenario,
            self.name,
            self.seed,
            self._started_at,
            self._ended_at,
            self.history,
            judge(self.history),
            self.telemetry,
        )
