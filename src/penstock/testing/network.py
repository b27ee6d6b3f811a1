"""The network of a test: hosts that brokers listen at, and the pipes that lead to them.

1. A broker ``NAME`` has the address ``NAME.test:7400``; ``.test`` is reserved for tests (RFC 2606)
   and never resolves elsewhere.  Any other address is dialled as usual.
2. A host exists from ``add_host`` to ``remove_host``.  While its broker is down, dialling it is
   refused at once, as by a machine on which no process listens.
3. A stalled host neither hears nor is heard.  Connections to it stay open and can be opened,
   because that is what a kernel does for a process that hangs.
4. Brokers dial, too: what is made while ``dialling_as`` is set belongs to that host.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from penstock.testing.errors import BrokerMisused
from penstock.testing.pipe import PipeEnd, connect_in_memory

P = TypeVar("P", bound=asyncio.BaseProtocol)

PORT: Final = 7400
LOOPBACK: Final = "127.0.0.1"
"""Clients are on the broker's own machine, which gives them the right to administer it."""

dialling_as: ContextVar[str] = ContextVar("dialling_as", default="")
"""The host on which the present task runs; empty for clients."""


class Listener:
    """Accepts connections for one broker; has what ``BrokerServer`` uses of ``asyncio.Server``."""

    def __init__(self, accept: Callable[[], asyncio.BufferedProtocol]) -> None:
        """``accept`` makes the protocol of each connection."""
        self.accept = accept
        self.serving = False

    async def start_serving(self) -> None:
        """Accept from now on."""
        self.serving = True

    def close(self) -> None:
        """Accept no more; connections that exist go on."""
        self.serving = False


class MemoryNetwork:
    """All hosts and connections of one event loop's world."""

    def __init__(self, latency_s: float) -> None:
        """``latency_s`` is what every message takes in one direction."""
        self._latency_s = latency_s
        self._listeners: dict[str, Listener | None] = {}
        self._stalled: set[str] = set()
        self._pipes: dict[PipeEnd, tuple[str, str]] = {}
        """The dialling end of each pipe, with the hosts at both ends."""
        self._last_port = 49_151

    # -- hosts ------------------------------------------------------------------------------

    def add_host(self, host: str) -> None:
        """Reserve a name; raises ``BrokerMisused`` if another broker has it."""
        if host in self._listeners:
            raise BrokerMisused(
                f"a broker called {host.removesuffix('.test')!r} runs on this event loop already; "
                "pass another name="
            )
        self._listeners[host] = None

    def remove_host(self, host: str) -> None:
        """Forget a host and drop what is left of its connections."""
        self.drop(host, "the broker of this test was closed")
        self._listeners.pop(host, None)
        self._stalled.discard(host)

    def listen(self, host: str, accept: Callable[[], asyncio.BufferedProtocol]) -> Listener:
        """A broker takes its address; it accepts after ``start_serving``."""
        listener = self._listeners[host] = Listener(accept)
        return listener

    # -- connections ------------------------------------------------------------------------

    async def dial(self, make: Callable[[], P], host: str, port: int) -> P:
        """Connect to a host of this network, or else to one of the machine's."""
        if host not in self._listeners:
            loop = asyncio.get_running_loop()
            return (await loop.create_connection(make, host, port))[1]
        listener = self._listeners[host]
        if listener is None or not listener.serving or port != PORT:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        self._forget_lost_pipes()
        self._last_port += 1
        protocol = make()
        assert isinstance(protocol, asyncio.BufferedProtocol)
        hosts = (dialling_as.get(), host)
        here, _ = connect_in_memory(
            protocol,
            listener.accept(),
            names=((LOOPBACK, self._last_port), (LOOPBACK, PORT)),
            latency_s=self._latency_s,
            stalled=lambda: not self._stalled.isdisjoint(hosts),
        )
        self._pipes[here] = hosts
        return protocol

    def _forget_lost_pipes(self) -> None:
        lost = [end for end in self._pipes if end.lost and end.other.lost]
        for end in lost:
            del self._pipes[end]

    def _pipes_of(self, host: str) -> list[PipeEnd]:
        return [end for end, hosts in self._pipes.items() if host in hosts]

    # -- faults -----------------------------------------------------------------------------

    def drop(self, host: str, reason: str) -> int:
        """Break every connection of a host; how many there were."""
        ends = [end for end in self._pipes_of(host) if not (end.lost and end.other.lost)]
        for end in ends:
            end.drop(reason)
            end.other.drop(reason)
        return len(ends)

    def stall(self, host: str) -> None:
        """Deliver nothing to or from a host until ``resume``."""
        self._stalled.add(host)

    def resume(self, host: str) -> None:
        """Deliver what has waited, and what follows."""
        self._stalled.discard(host)
        for end in self._pipes_of(host):
            end.deliver()
            end.other.deliver()
