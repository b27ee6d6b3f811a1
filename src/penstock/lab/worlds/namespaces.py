"""Runs a scenario's brokers in network namespaces, with kernel token buckets on their links.

1. Every broker has its own namespace, and a pair of virtual interfaces to the host over which
   clients reach it.
2. Every link is a pair of virtual interfaces between two namespaces; a limit is a ``tbf`` queue at
   both ends, and a cut sets one end down, so that the brokers detect it themselves.
3. A namespace can forward for its neighbours, so that traffic that is not the brokers' crosses a
   limited link from a host of its own.
4. Needs root and the programs ``ip`` and ``tc`` (Debian's package iproute2).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from penstock.lab.scenario.model import Link, Scenario
from penstock.lab.worlds.net_layout import LinkControl

PORT: Final = 7777
"""The same port in every namespace."""

BURST_BYTES: Final = 8 * 1024
"""Burst of a token bucket: a few packets, a fraction of a second at 60 KB/s."""

KERNEL_QUEUE_BYTES: Final = 24 * 1024
"""Queue in the kernel; the rest waits in the broker, where it has priorities and a bound."""

FORWARDING: Final = "/proc/sys/net/ipv4"
"""The kernel's forwarding settings; each namespace has its own."""


LEAST_BURST_BYTES: Final = 1600
"""The minimum that passes a full Ethernet packet of the brokers' own connection."""


class Shape(msgspec.Struct, frozen=True):
    """How the kernel limits a link, in addition to its rate."""

    burst_bytes: int = BURST_BYTES
    queue_bytes: int = KERNEL_QUEUE_BYTES


def shape_of(link: Link) -> Shape:
    """The simulator's queue of best-effort messages, if the link says how large they are."""
    if not link.datagram_bytes:
        return Shape()
    return Shape(LEAST_BURST_BYTES, link.datagram_queue_messages * link.datagram_bytes)


NETWORKS: Final = range(100, 200)
"""The second numbers of the addresses over which clients reach brokers."""

MAX_BROKERS: Final = 250
"""Each of them takes one number of an address."""


class NoNamespaces(RuntimeError):
    """Network namespaces cannot be created here; the text has the reason."""


def check_possible() -> None:
    """Raise ``NoNamespaces`` if this process cannot create namespaces."""
    if os.geteuid() != 0:
        raise NoNamespaces("network namespaces need root; run it as root, or without namespaces")
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise NoNamespaces(
                f"the program {program!r} is not installed; install the package iproute2"
            )
    _remove_orphans()
    probe = f"penstock-{os.getpid()}-probe"
    try:
        _ip("netns", "add", probe)
    finally:
        subprocess.run(["ip", "netns", "delete", probe], capture_output=True, check=False)


def _remove_orphans() -> None:
    """Remove the interfaces of runs that were killed: their addresses would conflict."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        name = line.split()[0] if line.split() else ""
        owner = name.split("-")[1] if name.startswith("penstock-") else ""
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _free_network() -> str:
    """An address prefix that is free on this host, because several runs may share it."""
    shown = subprocess.run(
        ["ip", "-o", "-4", "address"], capture_output=True, text=True, check=False
    )
    first = os.getpid() % len(NETWORKS)
    for number in (*NETWORKS[first:], *NETWORKS[:first]):
        if f" 10.{number}." not in shown.stdout:
            return f"10.{number}"
    raise NoNamespaces("every network from 10.100 to 10.199 is in use on this host")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespaces(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


class Namespaces:
    """One namespace for each broker, one pair of interfaces for each link."""

    limits_by_broker = False

    def __init__(self) -> None:
        """Raises ``NoNamespaces`` where they cannot be created."""
        check_possible()
        self._shapes: dict[frozenset[str], Shape] = {}
        self._tag = f"{os.getpid() % 46656:x}"
        self._network = _free_network()
        self._numbers: dict[str, int] = {}
        self._link_numbers: dict[frozenset[str], int] = {}
        self._ends: dict[tuple[str, str], str] = {}

    def open(self, scenario: Scenario) -> None:
        """Create namespaces, interfaces and the initial limits of the scenario."""
        if len(scenario.brokers) > MAX_BROKERS or len(scenario.links) > MAX_BROKERS:
            raise NoNamespaces(f"there are addresses for at most {MAX_BROKERS} brokers and links")
        for number, broker in enumerate(scenario.brokers, 1):
            self._numbers[broker.name] = number
            self._add_broker(broker.name, number)
        for number, link in enumerate(scenario.links, 1):
            self._add_link(link.between, number)
            self._shapes[frozenset(link.between)] = shape_of(link)
            self._limit(link.between, link.bandwidth_bytes_per_s)

    def _add_broker(self, name: str, number: int) -> None:
        namespace, outside, inside = self._namespace(name), self._outside(number), "clients"
        _ip("netns", "add", namespace)
        _ip("-n", namespace, "link", "set", "lo", "up")
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", namespace)
        _ip("address", "add", f"{self._network}.{number}.1/30", "dev", outside)
        _ip("link", "set", outside, "up")
        _ip("-n", namespace, "address", "add", f"{self._network}.{number}.2/30", "dev", inside)
        _ip("-n", namespace, "link", "set", inside, "up")

    def _add_link(self, pair: tuple[str, str], number: int) -> None:
        self._link_numbers[frozenset(pair)] = number
        ends = [f"link{number}a", f"link{number}b"]
        spaces = [self._namespace(name) for name in pair]
        _ip("-n", spaces[0], "link", "add", ends[0], "type", "veth",
            "peer", "name", ends[1], "netns", spaces[1])  # fmt: skip
        for index, (end, space) in enumerate(zip(ends, spaces, strict=True)):
            self._ends[pair[index], pair[1 - index]] = end
            _ip("-n", space, "address", "add", f"10.202.{number}.{index + 1}/30", "dev", end)
            _ip("-n", space, "link", "set", end, "up")

    def forward(self, path: Sequence[str]) -> None:
        """Let the ends of a path of links reach each other through the namespaces between."""
        for between in path[1:-1]:
            _run(*self.command(between, ("sh", "-c", f"echo 1 > {FORWARDING}/ip_forward")))
        for way in (tuple(path), tuple(path)[::-1]):
            network = f"10.202.{self._link_numbers[frozenset(way[-2:])]}.0/30"
            for at, here in enumerate(way[:-2]):
                gateway = self.neighbour_address(here, way[at + 1]).rpartition(":")[0]
                _ip("-n", self._namespace(here), "route", "add", network, "via", gateway)

    def keep_back(self, here: str, there: str) -> str:
        """Disable forwarding from there, for a program that forwards; returns the interface."""
        end = self._ends[here, there]
        setting = f"{FORWARDING}/conf/{end}/forwarding"
        _run(*self.command(here, ("sh", "-c", f"echo 0 > {setting}")))
        return end

    def send_single_segments(self, here: str, there: str) -> None:
        """Disable segmentation offload on this interface, so that packets are as on a wire."""
        _ip("-n", self._namespace(here), "link", "set", "dev", self._ends[here, there],
            "gso_max_segs", "1")  # fmt: skip

    def _outside(self, number: int) -> str:
        return f"pm{self._tag}h{number}"

    def _namespace(self, broker: str) -> str:
        return f"penstock-{os.getpid()}-{broker}"

    def address(self, broker: str) -> str:
        """The broker's address for clients."""
        return f"{self._network}.{self._numbers[broker]}.2:{PORT}"

    def listen(self, broker: str) -> str:
        """All interfaces: the namespace holds only this broker."""
        return f"0.0.0.0:{PORT}"

    def neighbour_address(self, broker: str, other: str) -> str:
        """The address of the other end of the link."""
        number = self._link_numbers[frozenset((broker, other))]
        end = 1 if self._ends[other, broker].endswith("a") else 2
        return f"10.202.{number}.{end}:{PORT}"

    def command(self, broker: str, command: Sequence[str]) -> tuple[str, ...]:
        """The command inside the broker's namespace."""
        return ("ip", "netns", "exec", self._namespace(broker), *command)

    async def set_link(
        self, pair: tuple[str, str], bandwidth: int, cut: bool, control: LinkControl
    ) -> None:
        """Configure the kernel; the brokers are not told."""
        await asyncio.to_thread(self._limit, pair, bandwidth)
        await asyncio.to_thread(self._set_cut, pair, cut)

    def _limit(self, pair: tuple[str, str], bandwidth: int) -> None:
        shape = self._shapes[frozenset(pair)]
        for here, there in (pair, pair[::-1]):
            space, end = self._namespace(here), self._ends[here, there]
            if not bandwidth:
                subprocess.run(
                    ["tc", "-n", space, "qdisc", "delete", "dev", end, "root"],
                    capture_output=True,
                    check=False,  # there may be no limit to remove
                )
                continue
            _run("tc", "-n", space, "qdisc", "replace", "dev", end, "root", "tbf",
                 "rate", f"{8 * bandwidth}bit", "burst", str(shape.burst_bytes),
                 "limit", str(shape.queue_bytes))  # fmt: skip

    def _set_cut(self, pair: tuple[str, str], cut: bool) -> None:
        first, second = pair
        state = "down" if cut else "up"
        _ip("-n", self._namespace(first), "link", "set", self._ends[first, second], state)

    def close(self) -> None:
        """Remove the namespaces and with them all interfaces.

        The kernel removes those with a delay; the outer ends are removed immediately, or the next
        layout of this process would find its names taken.
        """
        for name, number in self._numbers.items():
            subprocess.run(
                ["ip", "link", "delete", self._outside(number)], capture_output=True, check=False
            )
            subprocess.run(
                ["ip", "netns", "delete", self._namespace(name)], capture_output=True, check=False
            )
        self._numbers.clear()
