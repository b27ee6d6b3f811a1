"""Figure 10 with a real TCP connection: both cross the same ``tc tbf`` bottleneck.

Two brokers in network namespaces, the kernel's token bucket between them, and a TCP connection of
this machine's own stack from one namespace to the other.  Messages are as large as TCP's segments.
Needs root, and the programs ``ip`` and ``tc``; without them the row says what is missing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from penstock.lab.namespaces import Namespaces, NoNamespaces
from penstock.lab.papers.datagram_live_clients import LiveRun, run_clients
from penstock.lab.papers.datagram_runs import TCP
from penstock.lab.papers.datagram_scenario import (
    FLOWS,
    IMPROVED,
    UNCONTROLLED,
    DatagramScenario,
    Pair,
    Policy,
    load,
)
from penstock.lab.papers.datagram_table import TCP_SHARE
from penstock.lab.papers.table import PaperRow
from penstock.lab.scenario import Broker, Link, Scenario
from penstock.net.config import BrokerConfig, NeighbourConfig
from penstock.net.config_file import write_config
from penstock.net.process import SERVE_COMMAND, BrokerProcess
from penstock.sim.udp_workload import RatePoint

NEAR, FAR = "near", "far"
DURATION_S: Final = 70.0
TCP_START_S: Final = 10.0
MEASURED_FROM_S: Final = 20.0
MESSAGE_BYTES: Final = 1200
"""Nearly a TCP segment on Ethernet, and within a datagram: the shares follow the packets' sizes."""

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
"""Prints the bytes a second that it has received between two times of day."""

SENDER: Final = """
import socket, time
time.sleep(max(0, {begin} - time.time()))
connection = socket.create_connection(("{host}", {port}))
try:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
except OSError:
    pass
try:
    while time.time() < {until} + 5:
        connection.sendall(bytes(16384))
except OSError:
    pass
"""
"""Sends as fast as TCP lets it; NewReno, if the kernel has it."""


class TcpRun(msgspec.Struct, frozen=True):
    """What each of the two got of the link."""

    tcp_bytes_per_s: float
    run: LiveRun

    @property
    def share(self) -> float:
        """TCP's part of what both received, in per cent."""
        rate = self.run.rate_msgs_per_s(0, MEASURED_FROM_S, DURATION_S) * MESSAGE_BYTES
        return 100 * self.tcp_bytes_per_s / max(1.0, self.tcp_bytes_per_s + rate)


def tcp_rows(progress: Callable[[str], None]) -> list[PaperRow]:
    """One row for the control, one without it."""
    name = f"{load(TCP).name}, kernel TCP over tc tbf (live)"
    try:
        with TemporaryDirectory(prefix="penstock-datagram-tcp-") as directory:
            shares = {}
            for policy in (UNCONTROLLED, FLOWS, IMPROVED):
                progress(f"TCP, {policy.name}")
                where = Path(directory) / policy.law
                where.mkdir()
                shares[policy.name] = run_beside_tcp(policy, where).share
    except NoNamespaces as reason:
        note = f"not run: {reason}"
        return [TCP_SHARE.shown_alone(name, (), paper=TCP_SHARE.paper, note=note)]
    return [
        TCP_SHARE.both_laws(
            name,
            lambda policy: [shares[policy]],
            note=f"of what both received in {DURATION_S - MEASURED_FROM_S:g} s of one run; "
            f"{shares[UNCONTROLLED.name]:.0f} % without control",
        )
    ]


def scenario_beside_tcp() -> DatagramScenario:
    """What the publisher does meanwhile: twice what the link carries."""
    pair = Pair(0.5, (RatePoint(0.0, 400.0),))
    return msgspec.structs.replace(
        load(TCP), duration_s=DURATION_S, pairs=(pair,), message_bytes=MESSAGE_BYTES, tcp=None
    )


def run_beside_tcp(policy: Policy, directory: Path) -> TcpRun:
    """One run; raises ``NoNamespaces`` where they cannot be made."""
    scenario = scenario_beside_tcp()
    limit = round(scenario.bandwidth[0].kbps * 125)
    link = Link(between=(NEAR, FAR), bandwidth_bytes_per_s=limit)
    ground = Scenario(
        name="tcp", duration_s=DURATION_S, brokers={NEAR: Broker(), FAR: Broker()}, links=(link,)
    )
    with closing(Namespaces()) as layout, ExitStack() as running:
        layout.open(ground)
        for name, other in ((FAR, NEAR), (NEAR, FAR)):
            config = BrokerConfig(
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
        tcp = TcpConnection(layout, running)
        urls = {name: f"penstock://{layout.address(name)}" for name in (NEAR, FAR)}
        run = run_clients(scenario, policy, urls[NEAR], urls[FAR], FAR, tcp.begin)
        return TcpRun(tcp.received_bytes_per_s(), run)


class TcpConnection:
    """A TCP connection across the bottleneck, from one namespace to the other."""

    def __init__(self, layout: Namespaces, running: ExitStack) -> None:
        """Nothing is sent before ``begin``; the processes end with ``running``."""
        self._layout = layout
        self._running = running
        self._receiver: subprocess.Popen[str] | None = None

    def begin(self, began: float) -> None:
        """The clients begin at this time of day, the connection a little later."""
        times = {
            "port": TCP_PORT,
            "host": self._layout.neighbour_address(NEAR, FAR).rpartition(":")[0],
            "begin": began + TCP_START_S,
            "since": began + MEASURED_FROM_S,
            "until": began + DURATION_S,
        }
        self._receiver = self._start(FAR, RECEIVER.format(**times))
        self._start(NEAR, SENDER.format(**times))

    def received_bytes_per_s(self) -> float:
        """What arrived while it was measured."""
        assert self._receiver is not None, "the connection has not begun"
        assert self._receiver.stdout is not None
        return float(self._receiver.stdout.readline() or 0)

    def _start(self, where: str, program: str) -> subprocess.Popen[str]:
        command = self._layout.command(where, (sys.executable, "-c", program))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._running.callback(process.wait)
        self._running.callback(process.kill)
        return process
