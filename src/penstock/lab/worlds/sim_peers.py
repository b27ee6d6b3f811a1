"""Clients without brokers in the simulated world, on a network of datagrams of their own."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.clock import Instant, milliseconds
from penstock.core.datagrams import Address
from penstock.core.machine import Effect, Trace
from penstock.core.trace import TraceRecord
from penstock.lab.scenario.model import PeerNetwork
from penstock.lab.service import PeerMachine
from penstock.sim.datagram_network import DatagramModel, DatagramNetwork
from penstock.sim.world import SimWorld, UnknownEffect


class SimPeers:
    """The peers of a run, which share the clock of the brokers."""

    def __init__(
        self, world: SimWorld, model: PeerNetwork, on_trace: Callable[[TraceRecord], None]
    ) -> None:
        self._on_trace = on_trace
        self._machines: dict[Address, PeerMachine] = {}
        self._scheduler = world.scheduler
        self.network = DatagramNetwork(
            DatagramModel(
                milliseconds(model.latency_ms), milliseconds(model.jitter_ms), model.loss
            ),
            world.seed,
            world.scheduler,
            self._carry_out,
            checked=world.checked,
            on_fact=world.note,
        )

    def __contains__(self, name: str) -> bool:
        return name in self._machines

    def add(self, name: Address, machine: PeerMachine) -> None:
        """Let a peer join, with everything that it does at its start."""
        self._machines[name] = machine
        self.network.add(name, machine)

    def leave(self, name: Address) -> None:
        """Let a peer say goodbye, if it does, and remove it."""
        machine = self._machines.pop(name, None)
        if machine is not None:
            self.network.order(name, machine.farewell(now=self._scheduler.now))
            self.network.remove(name)

    def _carry_out(self, address: Address, effect: Effect, now: Instant) -> None:
        if not isinstance(effect, Trace):
            raise UnknownEffect(f"peer {address!r} ordered {effect!r}")
        self._on_trace(effect.record)
