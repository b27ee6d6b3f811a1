"""TCP connections of other programs over the links of a run.

In the simulated world a connection is a NewReno flow over the modelled links, whose sender has an
access link of its own.  In the network world it is a connection of the machine's kernel, between
network namespaces; it shares the bottleneck with the brokers only if it is made with some care:

1. The connection's sender has its own namespace and reaches the bottleneck through the first
   broker's.  A Linux sender on the host of the bottleneck's queue keeps only a few packets in it,
   whatever its window (TCP small queues), and learns of drops there without a round trip: then it
   is not limited by congestion.
2. It does not join segments (segmentation offload): two in one packet need twice the space in a
   queue that is nearly full, and are lost together.
3. On its path to the bottleneck it has the latency and the jitter of its access
   (``worlds/jitter_wire``).  Of two senders the more regular one meets the full queue less often;
   without jitter TCP gets three fifths of a link, in the simulator too.
4. The kernel must use NewReno, because loss and round trip must determine the rate
   (``worlds/tcp_traffic``).

Both record ``tcp_delivered_bytes`` as the node ``run``, with the name of the connection: what has
arrived so far, with headers.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from penstock.core.clock import Duration, Instant, milliseconds, seconds
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.lab.scenario.model import Broker, CrossTraffic, Link, Scenario
from penstock.lab.telemetry.run_records import NODE
from penstock.lab.worlds.namespaces import Namespaces
from penstock.lab.worlds.net_layout import Layout
from penstock.lab.worlds.traced_broker import read_trace
from penstock.lab.worlds.world import UnsupportedHere
from penstock.sim.drop_tail_hop import DropTailHop, HopModel
from penstock.sim.newreno import NewRenoFlow
from penstock.sim.world import SimWorld

METRIC: Final = "tcp_delivered_bytes"

FIRST_PORT: Final = 7900
"""Of the connections' receivers; each has the next one."""


# -- the simulated world ---------------------------------------------------------------------------


def simulate(
    flow: CrossTraffic,
    world: SimWorld,
    interval: Duration,
    record: Callable[[TraceRecord], None],
) -> NewRenoFlow:
    """Schedule a connection whose seconds count from now, and its telemetry."""
    model = HopModel(
        latency_ns=milliseconds(flow.access.latency_ms),
        jitter_ns=milliseconds(flow.access.jitter_ms),
    )
    access = DropTailHop(model, world.scheduler, random_stream(world.seed, flow.name, "access"))
    here, there = flow.between
    connection = NewRenoFlow(
        world.scheduler,
        [access, world.links[here, there]],
        [world.links[there, here]],
        segment_bytes=flow.segment_bytes,
    )
    began = world.now
    world.scheduler.at(began + seconds(flow.start_s), connection.start)
    if flow.stop_s is not None:
        world.scheduler.at(began + seconds(flow.stop_s), connection.stop)

    def measure() -> None:
        delivered = float(connection.delivered_bytes)
        record(TraceRecord(world.now, NODE, flow.name, METRIC, delivered))
        world.scheduler.at(world.now + interval, measure)

    measure()
    return connection


# -- the network world -----------------------------------------------------------------------------


def sender_host(flow: CrossTraffic) -> str:
    """The namespace of a connection's sender."""
    return f"{flow.name}.sender"


def wire_host(flow: CrossTraffic) -> str:
    """The namespace between a connection's sender and the link, which delays packets."""
    return f"{flow.name}.wire"


def with_hosts(scenario: Scenario) -> Scenario:
    """The scenario with the namespaces of its cross traffic as brokers, for a layout."""
    flows = scenario.cross_traffic
    hosts = [Broker(name=host(flow)) for flow in flows for host in (sender_host, wire_host)]
    links = [
        link
        for flow in flows
        for link in (
            Link(between=(sender_host(flow), wire_host(flow))),
            Link(between=(wire_host(flow), flow.between[0])),
        )
    ]
    return msgspec.structs.replace(
        scenario,
        brokers=(*scenario.brokers, *hosts),
        links=(*scenario.links, *links),
    )


def check_layout(scenario: Scenario, layout: Layout) -> None:
    """Raise ``UnsupportedHere`` if a layout cannot carry the scenario's cross traffic."""
    if scenario.cross_traffic and not isinstance(layout, Namespaces):
        raise UnsupportedHere(
            f"scenario {scenario.name!r}: cross_traffic needs links that the kernel limits; run it "
            "with --namespaces, or with --world sim"
        )


class KernelTraffic:
    """All connections of a run; the layout was opened with ``with_hosts``."""

    def __init__(self, scenario: Scenario, layout: Namespaces, directory: Path) -> None:
        """Nothing is sent before ``start``; telemetry is kept in ``directory``."""
        self._scenario = scenario
        self._layout = layout
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, began: Instant) -> None:
        """Start the processes of all connections; the scenario began at this instant."""
        for place, flow in enumerate(self._scenario.cross_traffic):
            self._start(flow, FIRST_PORT + place, began)

    def _start(self, flow: CrossTraffic, port: int, began: Instant) -> None:
        layout, sender, wire = self._layout, sender_host(flow), wire_host(flow)
        here, there = flow.between
        layout.forward((sender, wire, here, there))
        layout.send_single_segments(sender, wire)
        access = (str(flow.access.latency_ms), str(flow.access.jitter_ms))
        self._run(wire, "jitter_wire", layout.keep_back(wire, sender), *access)
        stop_s = self._scenario.duration_s if flow.stop_s is None else flow.stop_s
        times = (str(began + seconds(flow.start_s)), str(began + seconds(stop_s)))
        interval = str(seconds(self._scenario.trace_interval_s))
        common = (str(port), str(flow.segment_bytes), *times)
        path = str(self._trace(flow))
        self._run(there, "tcp_traffic", "receive", *common, interval, flow.name, path)
        host = layout.neighbour_address(here, there).rpartition(":")[0]
        self._run(sender, "tcp_traffic", "send", *common, host)

    def _run(self, host: str, module: str, *arguments: str) -> None:
        command = (sys.executable, "-m", f"penstock.lab.worlds.{module}", *arguments)
        self._processes.append(subprocess.Popen(self._layout.command(host, command)))

    def _trace(self, flow: CrossTraffic) -> Path:
        return self._directory / f"{flow.name}.trace"

    def close(self) -> list[TraceRecord]:
        """End all processes; returns their telemetry."""
        for process in self._processes:
            process.kill()
            process.wait()
        flows = self._scenario.cross_traffic
        return [record for flow in flows for record in read_trace(self._trace(flow))]
