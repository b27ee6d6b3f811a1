"""Datagrams arrive late, out of order, or never; a run depends on its seed alone."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact
from penstock.core.message import Message
from penstock.sim.datagram_network import DatagramModel, DatagramNetwork
from penstock.sim.scheduler import Scheduler


class Ping(Message, frozen=True):
    number: int


class Heard(Effect, frozen=True):
    number: int


class Pinger:
    """Sends a number to ``target`` every second, and reports what it receives."""

    def __init__(self, target: Address | None) -> None:
        self.target = target
        self.sent = 0
        self.checked = 0

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        if isinstance(fact, DeadlineReached) and self.target is not None:
            self.sent += 1
            return [SendDatagram(self.target, Ping(self.sent))]
        if isinstance(fact, DatagramReceived) and isinstance(fact.message, Ping):
            return [Heard(fact.message.number)]
        return []

    def next_deadline(self) -> Instant | None:
        return None if self.target is None else (self.sent + 1) * SECOND

    def check_invariants(self) -> None:
        self.checked += 1


def heard_by(model: DatagramModel, seed: int, rounds: int = 200) -> list[tuple[int, Instant]]:
    heard: list[tuple[int, Instant]] = []

    def application(address: Address, effect: Effect, now: Instant) -> None:
        assert isinstance(effect, Heard)
        heard.append((effect.number, now))

    network = DatagramNetwork(model, seed, Scheduler(0), application, checked=True)
    network.add("b", Pinger(None))
    network.add("a", Pinger("b"))
    network.scheduler.run_until(rounds * SECOND + SECOND // 2)
    return heard


def test_a_datagram_takes_the_latency() -> None:
    heard = heard_by(DatagramModel(latency_ns=3 * MILLISECOND, jitter_ns=0), 1, rounds=3)
    assert heard == [(n, n * SECOND + 3 * MILLISECOND) for n in (1, 2, 3)]


def test_datagrams_are_lost_at_the_given_rate_and_overtake_each_other() -> None:
    heard = heard_by(DatagramModel(jitter_ns=3 * SECOND, loss=0.3), 1)
    numbers = [number for number, _ in heard]
    assert 110 < len(numbers) < 170
    assert numbers != sorted(numbers)


def test_the_same_seed_gives_the_same_run() -> None:
    model = DatagramModel(jitter_ns=SECOND, loss=0.3)
    assert heard_by(model, 7) == heard_by(model, 7)
    assert heard_by(model, 7) != heard_by(model, 8)


def test_a_removed_machine_neither_receives_nor_sends() -> None:
    heard: list[Effect] = []
    network = DatagramNetwork(
        DatagramModel(), 1, Scheduler(0), lambda address, effect, now: heard.append(effect)
    )
    network.add("b", Pinger(None))
    network.add("a", Pinger("b"))
    network.remove("b")
    network.scheduler.run_until(3 * SECOND)
    network.remove("a")
    network.scheduler.run_until(9 * SECOND)
    assert heard == []
    assert network.sent_datagrams == 3
