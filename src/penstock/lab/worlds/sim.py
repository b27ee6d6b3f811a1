"""A scenario in the simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from penstock.core.clock import milliseconds, seconds
from penstock.core.machine import Machine
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.scenario.broker_tables import broker_tables, node_config_of
from penstock.lab.scenario.model import Access, Client, Fault, Link, LinkChange, Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.service import PeerMachine, Stage, lab_services, overlaid
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds import cross_traffic
from penstock.lab.worlds.sim_peers import SimPeers
from penstock.sim.disk import DiskModel
from penstock.sim.link import LinkModel
from penstock.sim.world import EPOCH, SimWorld


class SimRun:
    """A scenario's brokers, links, disks and clients in virtual time."""

    name = "sim"

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        telemetry: Telemetry | None = None,
        *,
        checked: bool = False,
        digested: bool = False,
    ) -> None:
        """``checked`` checks all invariants throughout; ``digested`` hashes all events."""
        self.scenario = expanded(scenario, seed)
        self.seed = seed
        services = lab_services()
        self.histories = {
            name: services[name].history(self.scenario) for name in self.scenario.services
        }
        self.telemetry = telemetry or Telemetry()
        self.world = SimWorld(seed, on_trace=self.telemetry.add, checked=checked, digested=digested)
        self.peers = SimPeers(self.world, self.scenario.peer_network, self.telemetry.add)
        self._brokers = {each.name: each for each in self.scenario.brokers}
        self._clients: dict[str, Client] = {}
        self._stop_s: dict[str, float] = {}
        self._stopped: set[str] = set()
        self._changed: dict[str, dict[str, Any]] = {}
        self._digested = digested

    def open(self) -> None:
        """Start every broker and bring up every link."""
        scenario = self.scenario
        fair = {}
        for broker in scenario.brokers:
            disk = DiskModel(sync_ns=milliseconds(broker.disk_sync_ms))
            self.world.add_broker(node_config_of(scenario, broker), disk)
            fair[broker.name] = any(each.fair_links for each in broker_tables(scenario, broker))
        for link in scenario.links:
            self.world.add_link(*link.between, link_model(link, fair=fair[link.between[0]]))
        self.world.start(each.name for each in scenario.brokers if not each.start_s)
        interval = seconds(scenario.trace_interval_s)
        self.world.trace_links(interval)
        for flow in scenario.cross_traffic:
            cross_traffic.simulate(flow, self.world, interval, self.telemetry.add)

    def start_broker(self, broker: str) -> None:
        """Start a broker that was unknown so far."""
        self.world.restart(broker)

    def run_until(self, at_s: float) -> None:
        self.world.run_until(EPOCH + seconds(at_s))

    # -- clients ----------------------------------------------------------------------------

    def start_client(self, client: Client, stop_s: float) -> None:
        """Start a client, which ends at ``stop_s`` at the latest."""
        self._clients[client.name] = client
        self._stop_s[client.name] = stop_s
        machine = self._machine(client, stop_s)
        if client.needs_broker:
            access = None if client.access is None else _access_model(client.access)
            self.world.add_client(client.name, machine, client.broker, access)
        else:
            self.peers.add(client.name, cast(PeerMachine, machine))

    def _machine(self, client: Client, stop_s: float) -> Machine:
        stage = Stage(
            scenario=self.scenario,
            seed=self.seed,
            began_at=EPOCH,
            now=self.world.now,
            stop_at=EPOCH + seconds(stop_s),
        )
        service = lab_services()[client.service]
        return service.machine(client, self.histories[client.service], stage)

    def stop_client(self, client: Client) -> None:
        """Stop a client for the rest of the run."""
        self._stopped.add(client.name)
        self._leave(client.name)
        service, history = lab_services()[client.service], self.histories[client.service]
        service.stopped(client, history, self.world.now)

    def _leave(self, name: str) -> None:
        if self._clients[name].needs_broker:
            self.world.leave(name)
        else:
            self.peers.leave(name)

    def _come_back(self, name: str) -> None:
        client = self._clients[name]
        if client.needs_broker:
            self.world.come_back(name)
        elif name not in self.peers:
            # A peer that has left joins again as a new one.
            machine = self._machine(client, self._stop_s[name])
            self.peers.add(name, cast(PeerMachine, machine))

    # -- changes and faults -----------------------------------------------------------------

    def change_link(self, link: Link, change: LinkChange) -> None:
        """Change the properties of a link."""
        first, second = link.between
        if change.bandwidth_bytes_per_s is not None:
            self.world.set_bandwidth(first, second, change.bandwidth_bytes_per_s)
        self.world.set_path(
            first,
            second,
            latency_ns=_milliseconds(change.latency_ms),
            jitter_ns=_milliseconds(change.jitter_ms),
            loss=change.loss,
        )

    def strike(self, fault: Fault) -> None:
        """Supports every fault; a fault of an absent client has no effect."""
        world, clients = self.world, self._clients
        match fault:
            case Fault(cut=(first, second)):
                world.cut(first, second)
            case Fault(mend=(first, second)):
                world.mend(first, second)
            case Fault(crash=str(broker)):
                world.crash(broker)
            case Fault(restart=str(broker)):
                world.restart(broker)
            case Fault(pause=pause) if pause is not None:
                world.pause(pause.broker, seconds(pause.for_s))
            case Fault(bandwidth=change) if change is not None:
                world.set_bandwidth(*change.link, change.bytes_per_s)
            case Fault(fill_disk=str(broker)):
                world.fill_disk(broker, full=True)
            case Fault(free_disk=str(broker)):
                world.fill_disk(broker, full=False)
            case Fault(fail_sync=str(broker)):
                world.fail_sync(broker)
            case Fault(damage_log=str(broker)):
                self._damage(broker)
            case Fault(drop_client=str(client)) if client in clients:
                world.drop_client(client)
            case Fault(leave=str(client)) if client in clients:
                self._leave(client)
            case Fault(come_back=str(client)) if self._may_come_back(client):
                self._come_back(client)
            case Fault(close=str(client)) if client in clients:
                self._closable(client).close()
                world.ask(client)
            case Fault(reopen=str(client)) if self._may_come_back(client):
                self._closable(client).reopen(connected=world.clients[client].connected)
                world.ask(client)
            case Fault(reconfigure=change) if change is not None:
                self._reconfigure(change.broker, change.keys)

    def _damage(self, broker: str) -> None:
        """Damage the log of a service that can tell its clients."""
        for name, history in self.histories.items():
            service = lab_services()[name]
            if not service.log_prefix:
                continue
            damaged = self.world.damage_log(broker, service.log_prefix)
            if damaged is not None:
                service.damaged(history, *damaged)

    def _closable(self, client: str) -> Any:
        return self.world.clients[client].machine

    def _reconfigure(self, name: str, keys: Mapping[str, Any]) -> None:
        """Restart a broker with other values of its keys."""
        changed = self._changed[name] = overlaid(self._changed.get(name, {}), keys)
        self.world.crash(name)
        config = node_config_of(self.scenario, self._brokers[name], changed)
        self.world.brokers[name].config = config
        self.world.restart(name)

    def _may_come_back(self, client: str) -> bool:
        """Whether a client exists and has not stopped for the rest of the run."""
        return client in self._clients and client not in self._stopped

    # -- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing to stop in virtual time."""
        self.telemetry.close()

    def result(self, judgements: Mapping[str, Judgement] | None = None) -> RunResult:
        """The result of the run."""
        if judgements is None:
            judgements = {name: each.judge() for name, each in self.histories.items()}
        return RunResult(
            self.scenario,
            self.name,
            self.seed,
            EPOCH,
            self.world.now,
            self.histories,
            judgements,
            self.telemetry,
            tuple(self.world.failures),
            self.world.scheduler.events,
            self.world.digest if self._digested else "",
        )


def _milliseconds(value: float | None) -> int | None:
    return None if value is None else milliseconds(value)


def link_model(link: Link, *, fair: bool) -> LinkModel:
    """The modelled properties of a link."""
    return LinkModel(
        bandwidth_bytes_per_s=link.bandwidth_bytes_per_s,
        latency_ns=milliseconds(link.latency_ms),
        jitter_ns=milliseconds(link.jitter_ms),
        queue_bytes=link.queue_bytes,
        loss=link.loss,
        fair=fair,
        window_bytes=link.window_bytes,
        best_effort_queue_messages=link.datagram_queue_messages,
        best_effort_bytes=link.datagram_bytes,
    )


def _access_model(access: Access) -> LinkModel:
    return LinkModel(
        latency_ns=milliseconds(access.latency_ms),
        jitter_ns=milliseconds(access.jitter_ms),
        queue_bytes=1 << 40,
    )
