"""Figure 10 with a real TCP connection: both cross the same ``tc tbf`` bottleneck.

Two brokers in network namespaces, the kernel's token bucket between them, and a TCP connection of
this machine's own stack.  The bottleneck is the simulator's: the same rate, a queue of as many
packets, and packets of one size, which requires some care:

1. The connection's sender has its own namespace and reaches the bottleneck through the first
   broker's.  A Linux sender on the host of the bottleneck's queue keeps only a few packets in it,
   whatever its window (TCP small queues), and learns of drops there without a round trip: then it
   is not limited by congestion.
2. It does not join segments (segmentation offload): two in one packet need twice the space in a
   queue that is nearly full, and are lost together.
3. A message and a segment have the same size on the link, headers included.
4. On its path to the bottleneck it has the simulator's latency, and as much jitter as the
   publishers (``lab/worlds/jitter_wire``).  Of two senders the more regular one meets the full
   queue less often; without jitter TCP gets three fifths, in the simulator too.
5. The kernel must use NewReno, because loss and round trip must determine the rate.

Needs root, and the programs ``ip`` and ``tc``; without them the row names what is missing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from penstock.lab.scenario.model import Broker, Link, Scenario
from penstock.lab.worlds.namespaces import Namespaces, NoNamespaces, Shape
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import SERVE_COMMAND, BrokerProcess
from penstock.papers.content_aware.live_clients import TICK_S, LiveRun, run_clients
from penstock.papers.content_aware.runs import TCP
from penstock.papers.content_aware.scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    DatagramScenario,
    Policy,
    load,
)
from penstock.papers.content_aware.table import TCP_SHARE
from penstock.papers.table import PaperRow

NEAR, FAR, AWAY, WIRE = "near", "far", "away", "wire"
"""The brokers, the namespace of the connection's sender, and the one before the first broker."""

DURATION_S: Final = 70.0
TCP_START_S: Final = 5.0
MEASURED_FROM_S: Final = 25.0
"""As in the simulator, from 20 s after the connection's start."""

UDP_HEADERS_BYTES: Final = 14 + 20 + 8
TCP_HEADERS_BYTES: Final = 14 + 20 + 20
TIME_STAMP_BYTES: Final = 12
"""Ethernet, IP, and UDP or TCP; Linux adds a timestamp to every segment."""

BURST_BYTES: Final = 1600
"""The minimum that passes a full Ethernet packet of the brokers' own connection."""

TCP_PORT: Final = 7999

RECEIVER: Final = """
import socket, time
listener = socket.create_server(("0.0.0.0", {port}))
connection, _ = listener.accept()
counted = 0
while time.time() < {until} and (data := connection.recv(65536)):
    if time.time() >= {since}:
        counted += len(data)
print(counted / ({until} - {since}), flush=True)
"""
"""Prints the bytes per second that it received between two times of day."""

SENDER: Final = """
import socket, time
time.sleep(max(0, {begin} - time.time()))
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, {most})
connection.connect(("{host}", {port}))
try:
    while time.time() < {until} + 5:
        connection.sendall(bytes(16384))
except OSError:
    pass
"""
"""Sends as fast as TCP allows."""


class TcpRun(msgspec.Struct, frozen=True):
    """The rates of the connection and of the flow on the link."""

    tcp_bytes_per_s: float
    run: LiveRun

    @property
    def share(self) -> float:
        """TCP's share of the link, in per cent, headers included."""
        scenario = scenario_beside_tcp()
        segments_per_s = self.tcp_bytes_per_s / segment_data_bytes(scenario)
        return 100 * segments_per_s / scenario.capacity_msgs_per_s(MEASURED_FROM_S)

    @property
    def flow_share(self) -> float:
        """The flow's share of the link, in per cent."""
        rate = self.run.rate_msgs_per_s(0, MEASURED_FROM_S, DURATION_S)
        return 100 * rate / scenario_beside_tcp().capacity_msgs_per_s(MEASURED_FROM_S)


def tcp_rows(runs: int, progress: Callable[[str], None]) -> list[PaperRow]:
    """A row for both laws, with this many runs of each."""
    name = f"{load(TCP).name}, kernel TCP over tc tbf (live)"
    shares: dict[str, list[float]] = {}
    try:
        for policy in (UNCONTROLLED, FLOWS, IMPROVED):
            times = 1 if policy is UNCONTROLLED else runs
            for number in range(1, times + 1):
                progress(f"TCP, {policy.name}, {number} of {times}")
                with TemporaryDirectory(prefix="penstock-datagram-tcp-") as directory:
                    share = run_beside_tcp(policy, Path(directory)).share
                shares.setdefault(policy.name, []).append(share)
    except NoNamespaces as reason:
        note = f"not run: {reason}"
        return [TCP_SHARE.shown_alone(name, (), paper=TCP_SHARE.paper, note=note)]
    return [share_row(name, shares)]


def share_row(name: str, shares: Mapping[str, Sequence[float]]) -> PaperRow:
    """TCP's share in the runs of each policy."""
    each, improved = (
        ", ".join(f"{share:.0f}" for share in shares[policy.name]) for policy in (FLOWS, IMPROVED)
    )
    return TCP_SHARE.both_laws(
        name,
        lambda policy: shares[policy],
        note=f"{each} and {improved} in {DURATION_S - MEASURED_FROM_S:g} s of each run; "
        f"{shares[UNCONTROLLED.name][0]:.0f} without control",
    )


def scenario_beside_tcp() -> DatagramScenario:
    """The simulator's scenario, shortened; the TCP flow is not simulated."""
    return msgspec.structs.replace(load(TCP), duration_s=DURATION_S, tcp=None)


def segment_data_bytes(scenario: DatagramScenario) -> int:
    """The data of a segment that is as large on the link as a message."""
    return scenario.message_bytes - TCP_HEADERS_BYTES - TIME_STAMP_BYTES


def run_beside_tcp(policy: Policy, directory: Path) -> TcpRun:
    """One run; raises ``NoNamespaces`` where they cannot be created."""
    scenario = scenario_beside_tcp()
    limit = round(scenario.bandwidth[0].kbps * 125)
    ground = Scenario(
        name="tcp",
        duration_s=DURATION_S,
        brokers={name: Broker() for name in (NEAR, FAR, AWAY, WIRE)},
        links=(
            Link(between=(NEAR, FAR), bandwidth_bytes_per_s=limit),
            Link(between=(AWAY, WIRE)),
            Link(between=(WIRE, NEAR)),
        ),
    )
    queue_bytes = scenario.queue_messages * scenario.message_bytes
    with closing(Namespaces(Shape(BURST_BYTES, queue_bytes))) as layout, ExitStack() as running:
        layout.open(ground)
        layout.forward((AWAY, WIRE, NEAR, FAR))
        layout.send_single_segments(AWAY, WIRE)
        for name, other in ((FAR, NEAR), (NEAR, FAR)):
            config = broker_config(
                name,
                str(directory / name),
                listen=layout.listen(name),
                pubends=0,
                neighbours={other: NeighbourConfig(layout.neighbour_address(name, other))},
            )
            path = directory / f"{name}.toml"
            write_config(path, config)
            command = layout.command(name, SERVE_COMMAND)
            running.enter_context(BrokerProcess(path, directory / f"{name}.log", command))
        tcp = TcpConnection(layout, running, scenario)
        urls = {name: f"penstock://{layout.address(name)}" for name in (NEAR, FAR)}
        inside = msgspec.structs.replace(
            scenario, message_bytes=scenario.message_bytes - UDP_HEADERS_BYTES
        )
        run = run_clients(inside, policy, urls[NEAR], urls[FAR], FAR, tcp.begin)
        return TcpRun(tcp.received_bytes_per_s(), run)


class TcpConnection:
    """A TCP connection across the bottleneck, between namespaces beyond its ends."""

    def __init__(self, layout: Namespaces, running: ExitStack, scenario: DatagramScenario) -> None:
        """Nothing is sent before ``begin``; the processes end with ``running``."""
        self._layout = layout
        self._running = running
        self._scenario = scenario
        self._receiver: subprocess.Popen[str] | None = None

    def begin(self, began: float) -> None:
        """The clients begin at this time of day, the connection a little later."""
        times = {
            "port": TCP_PORT,
            "host": self._layout.neighbour_address(NEAR, FAR).rpartition(":")[0],
            "most": segment_data_bytes(self._scenario) + TIME_STAMP_BYTES,
            "begin": began + TCP_START_S,
            "since": began + MEASURED_FROM_S,
            "until": began + DURATION_S,
        }
        jitter_wire = (
            self._layout.keep_back(WIRE, AWAY),
            str(self._scenario.latency_ms),
            str(1000 * TICK_S),
        )
        self._start(WIRE, "-m", "penstock.lab.worlds.jitter_wire", *jitter_wire)
        self._receiver = self._start(FAR, "-c", RECEIVER.format(**times))
        self._start(AWAY, "-c", SENDER.format(**times))

    def received_bytes_per_s(self) -> float:
        """The rate that arrived during the measurement."""
        assert self._receiver is not None, "the connection has not begun"
        assert self._receiver.stdout is not None
        return float(self._receiver.stdout.readline() or 0)

    def _start(self, where: str, *arguments: str) -> subprocess.Popen[str]:
        command = self._layout.command(where, (sys.executable, *arguments))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._running.callback(process.wait)
        self._running.callback(process.kill)
        return process
