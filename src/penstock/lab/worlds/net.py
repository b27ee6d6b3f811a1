"""A scenario in the network world: real broker processes, sockets and disks on this machine.

1. Every broker is a process with its own data directory; a crash is ``kill -9``.
2. Bandwidth, queue and cuts of a link are those of the brokers themselves (as an operator would set
   them), or the kernel's between network namespaces, depending on the layout.  Latency, jitter and
   loss are those of the machine: the scenario's values apply only in the simulator, and so do the
   duration of a sync and faults of disks and of single connections.
3. Clients are applications of the client library, in this process.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from penstock.client.client import connect
from penstock.core.clock import in_seconds, seconds
from penstock.core.trace import TraceRecord
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.scenario.broker_tables import broker_tables
from penstock.lab.scenario.model import Broker, Client, Fault, Link, LinkChange, Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.service import Application, NetStage, lab_services, overlaid
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds.cross_traffic import KernelTraffic, check_layout, with_hosts
from penstock.lab.worlds.namespaces import Namespaces
from penstock.lab.worlds.net_layout import Layout, Loopback
from penstock.lab.worlds.traced_broker import COMMAND, read_trace, trace_path
from penstock.lab.worlds.world import UnsupportedHere
from penstock.net.broker.config import BrokerConfig, NeighbourConfig, TelemetryConfig
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess

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

        Raises ``UnsupportedHere`` if the scenario has what only the simulator supports.
        """
        _check_supported(scenario)
        self.scenario = expanded(scenario, seed)
        self.seed = seed
        services = lab_services()
        self.histories = {
            name: services[name].history(self.scenario) for name in self.scenario.services
        }
        self.telemetry = telemetry or Telemetry()
        self.urls: dict[str, str] = {}
        self._layout = layout or Loopback()
        check_layout(self.scenario, self._layout)
        self._temporary = directory is None
        self._directory = directory or Path(tempfile.mkdtemp(prefix="penstock-run-"))
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._processes: dict[str, BrokerProcess] = {}
        self._brokers = {each.name: each for each in self.scenario.brokers}
        self._clients: dict[str, Application] = {}
        self._shared: dict[str, dict[str, Any]] = {name: {} for name in self.histories}
        self._recorded: list[TraceRecord] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._links = {frozenset(link.between): link for link in self.scenario.links}
        self._bandwidth = {pair: link.bandwidth_bytes_per_s for pair, link in self._links.items()}
        self._cut: set[frozenset[str]] = set()
        self._changed: dict[str, dict[str, Any]] = {}
        self._traffic: KernelTraffic | None = None
        self._started_at = 0
        self._ended_at = 0

    # -- brokers ----------------------------------------------------------------------------

    def open(self) -> None:
        """Start every broker and wait for the links."""
        self._layout.open(with_hosts(self.scenario))
        for name, broker in self._brokers.items():
            self.urls[name] = f"penstock://{self._layout.address(name)}"
            path = self._directory / f"{name}.toml"
            write_config(path, self._config(broker))
            log = path.with_suffix(".log")
            command = self._layout.command(name, COMMAND)
            self._processes[name] = BrokerProcess(path, log, command)
        for name in self._present():
            self._processes[name].start()
        self._run(self._links_are_up())
        self._started_at = time.time_ns()
        if isinstance(self._layout, Namespaces):
            self._traffic = KernelTraffic(self.scenario, self._layout, self._directory)
            self._traffic.start(self._started_at)

    def _config(self, broker: Broker) -> BrokerConfig:
        name = broker.name
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
        tables = broker_tables(self.scenario, broker, self._changed.get(name))
        return BrokerConfig(
            name,
            str(self._directory / f"{name}.data"),
            listen=self._layout.listen(name),
            neighbours=neighbours,
            telemetry=TelemetryConfig(interval_s=self.scenario.trace_interval_s),
            tables=tuple(each for each in tables if each != type(each)()),
        )

    def _present(self) -> list[str]:
        """The brokers that exist from the beginning."""
        return [each.name for each in self.scenario.brokers if not each.start_s]

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

    def start_client(self, client: Client, stop_s: float) -> None:
        """Start a client, which ends at ``stop_s`` at the latest."""
        stage = NetStage(
            scenario=self.scenario,
            seed=self.seed,
            began_at=self._started_at,
            now=time.time_ns(),
            stop_at=self._started_at + seconds(stop_s),
            url=self.urls.get(client.broker, ""),
            shared=self._shared[client.service],
            record=self._recorded.append,
        )
        service = lab_services()[client.service]
        application = service.application(client, self.histories[client.service], stage)
        self._clients[client.name] = application
        self._run(self._start(client.name, application))

    async def _start(self, name: str, application: Application) -> None:
        self._tasks[name] = asyncio.get_running_loop().create_task(application.run(), name=name)

    def stop_client(self, client: Client) -> None:
        """Stop a client for the rest of the run."""
        service = lab_services()[client.service]
        service.stopped(client, self.histories[client.service], time.time_ns())
        self._run(self._cancel([self._tasks.pop(client.name)]))

    @staticmethod
    async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- changes and faults -----------------------------------------------------------------

    def change_link(self, link: Link, change: LinkChange) -> None:
        """Change the limit of a link; its latency, jitter and loss are those of the machine."""
        if change.bandwidth_bytes_per_s is not None:
            self._bandwidth[frozenset(link.between)] = change.bandwidth_bytes_per_s
            self._run(self._control(link.between))

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
            case Fault(pause=pause) if pause is not None:
                self._pause(self._processes[pause.broker], pause.for_s)
            case Fault(restart=str(broker)) if not self._processes[broker].running:
                self._run(self._restart(broker))
            case Fault(leave=str(client)) | Fault(close=str(client)) if client in self._tasks:
                self._clients[client].leave()
            case Fault(come_back=str(client)) | Fault(reopen=str(client)) if client in self._tasks:
                self._clients[client].come_back()
            case Fault(reconfigure=change) if change is not None:
                self._run(self._reconfigure(change.broker, change.keys))

    def _pause(self, process: BrokerProcess, for_s: float) -> None:
        """Stop a process for a while; a thread of its own wakes it, whatever this world does."""
        if process.running:
            process.pause()
            threading.Timer(for_s, process.resume).start()

    async def _restart(self, broker: str) -> None:
        """Restart a broker while the clients continue; its links keep their state."""
        await asyncio.to_thread(self._processes[broker].start)
        for pair, link in self._links.items():
            if broker in pair:
                await self._control(link.between)

    async def _reconfigure(self, broker: str, keys: Mapping[str, Any]) -> None:
        """Stop a broker, and start it with other values of its keys."""
        process = self._processes[broker]
        if process.running:
            await asyncio.to_thread(process.terminate)
        self._changed[broker] = overlaid(self._changed.get(broker, {}), keys)
        write_config(process.config_path, self._config(self._brokers[broker]))
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
        records = self._recorded
        if self._traffic is not None:
            records += self._traffic.close()
        for process in self._processes.values():
            if process.running:
                process.resume()
                process.terminate()
            records += read_trace(trace_path(process.config_path))
        self.telemetry.extend(sorted(records, key=lambda record: record.at))
        self.telemetry.close()
        self._layout.close()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def result(self, judgements: Mapping[str, Judgement] | None = None) -> RunResult:
        """The result; judged again, because closing clients may receive more."""
        return RunResult(
            self.scenario,
            self.name,
            self.seed,
            self._started_at,
            self._ended_at,
            self.histories,
            {name: each.judge() for name, each in self.histories.items()},
            self.telemetry,
        )


def _check_supported(scenario: Scenario) -> None:
    for fault in scenario.faults:
        for kind in fault.kinds:
            if kind in UNSUPPORTED:
                raise UnsupportedHere(
                    f"scenario {scenario.name!r}: {kind} at {fault.at_s:g} s is not supported "
                    "in the net world; run it with --world sim"
                )
