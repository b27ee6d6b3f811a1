"""Datagrams between any two machines in virtual time.

1. A datagram takes the latency and a random jitter, so that datagrams overtake each other, or is
   lost with the given probability; the sender does not learn of the loss.
2. A datagram to an address without a machine is lost.
3. The network carries out the machines' sends; every other effect goes to ``on_effect``, which acts
   as the application of all machines.
4. Datagrams have no bandwidth here: gossip's scarce resource is the buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact, Machine
from penstock.core.message import Message
from penstock.core.randomness import random_stream
from penstock.sim.scheduler import Scheduler


class DatagramModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    latency_ns: Duration = 2 * MILLISECOND
    jitter_ns: Duration = 2 * MILLISECOND
    loss: float = 0.0


class DatagramNetwork:
    def __init__(
        self,
        model: DatagramModel,
        seed: int,
        scheduler: Scheduler,
        on_effect: Callable[[Address, Effect, Instant], None],
        *,
        checked: bool = False,
        on_fact: Callable[[Address, Fact], None] = lambda address, fact: None,
    ) -> None:
        """``checked`` makes every machine check its invariants after every fact; ``on_fact``
        hears every fact before its machine does.
        """
        self.model = model
        self.scheduler = scheduler
        self.sent_datagrams = 0
        self.lost_datagrams = 0
        self._machines: dict[Address, Machine] = {}
        self._wakes_at: dict[Address, Instant] = {}
        self._on_effect = on_effect
        self._random = random_stream(seed, "datagrams")
        self._checked = checked
        self._on_fact = on_fact

    def add(self, address: Address, machine: Machine) -> None:
        self._machines[address] = machine
        self._arm(address, machine)

    def remove(self, address: Address) -> None:
        """Remove a machine without notice to the others."""
        self._machines.pop(address, None)
        self._wakes_at.pop(address, None)

    def tell(self, address: Address, fact: Fact) -> None:
        """Pass a fact to a machine, if it is present, and carry out its effects."""
        machine = self._machines.get(address)
        if machine is None:
            return
        self._on_fact(address, fact)
        self._carry_out(address, machine.handle(fact, now=self.scheduler.now))
        if self._checked:
            machine.check_invariants()
        self._arm(address, machine)

    def order(self, address: Address, effects: Iterable[Effect]) -> None:
        """Carry out effects that a machine ordered outside ``handle``."""
        self._carry_out(address, effects)

    def _carry_out(self, address: Address, effects: Iterable[Effect]) -> None:
        now = self.scheduler.now
        for effect in effects:
            if type(effect) is SendDatagram:
                self._send(address, effect.destination, effect.message, now)
            else:
                self._on_effect(address, effect, now)

    def _send(self, source: Address, target: Address, message: Message, now: Instant) -> None:
        self.sent_datagrams += 1
        model = self.model
        if model.loss and self._random.random() < model.loss:
            self.lost_datagrams += 1
            return
        arrival = now + model.latency_ns
        if model.jitter_ns:
            arrival += int(self._random.random() * model.jitter_ns)
        self.scheduler.at(arrival, self._arrive, target, DatagramReceived(source, message))

    def _arrive(self, target: Address, fact: DatagramReceived) -> None:
        self.tell(target, fact)

    def _arm(self, address: Address, machine: Machine) -> None:
        deadline = machine.next_deadline()
        if deadline is None:
            return
        wakes_at = self._wakes_at.get(address)
        if wakes_at is None or deadline < wakes_at:
            self._wakes_at[address] = deadline
            self.scheduler.at(deadline, self._wake, address, deadline)

    def _wake(self, address: Address, deadline: Instant) -> None:
        if self._wakes_at.get(address) != deadline:
            return
        del self._wakes_at[address]
        machine = self._machines[address]
        due = machine.next_deadline()
        if due is not None and due <= self.scheduler.now:
            self.tell(address, DeadlineReached())
        else:
            self._arm(address, machine)
