"""The simulated world: brokers, clients, links and disks in virtual time.

Every broker is the same ``BrokerNode`` that the network world runs, and every client the same
client machine.  The world carries out their effects: sends go over modelled links, store orders to
modelled disks, and time jumps to the next event.  A run depends on its seed alone.

A broker whose machine raises crashes as in the network world and restarts from its disk; the
failure is recorded in ``failures``.  In a checked world it ends the run instead, naming the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import xxhash

from penstock.content.codec.size import SizeMeter
from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.datagrams import SendBestEffort
from penstock.core.intervals import Interval
from penstock.core.limit_check import violation
from penstock.core.machine import (
    CloseSession,
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkName,
    LinkUp,
    Machine,
    Persist,
    PersistState,
    QueuesMeasured,
    ReadLog,
    Received,
    Send,
    SessionClosed,
    SessionOpened,
    ToApplication,
    Trace,
    TrimLog,
)
from penstock.core.machine_failure import MachineFailed
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.overlay.gate import objection
from penstock.overlay.node import BrokerNode, NodeConfig
from penstock.sim.disk import DiskModel, SimDisk
from penstock.sim.link import LinkModel, SimLink
from penstock.sim.scheduler import Scheduler
from penstock.store.log_bounds import recovered_logs

EPOCH: Instant = 1_700_000_000 * SECOND
"""Virtual time starts here, so that ticks are as large as those of a real clock."""

BROKER: LinkName = "broker"
"""A client's name for its only link."""


UNMEASURED = 0
"""Messages between a client and its broker cross no modelled network and have no size."""

MEASURE_QUEUES_EVERY: Duration = SECOND // 20
"""How often brokers get the queue lengths of their links: as often as links are priced."""


RESTART_AFTER_FAILURE: Duration = SECOND // 2
"""Downtime of a broker after its machine raised: the first pause of the network world."""


class LimitBroken(AssertionError):
    """A machine sent a message that no broker would accept in the network world."""


class UnknownEffect(TypeError):
    """A machine ordered something that this world cannot carry out."""


class SimBroker:
    """A broker and its disk; ``node`` is None while it is down."""

    __slots__ = ("config", "disk", "held", "node", "paused_until", "wake_at")

    def __init__(self, config: NodeConfig, disk: SimDisk) -> None:
        self.config = config
        self.disk = disk
        self.node: BrokerNode | None = None
        self.wake_at: Instant | None = None
        self.paused_until: Instant = 0
        self.held: list[Fact] = []
        """What arrived while the process was paused."""


class SimClient:
    """A client machine and the broker that it connects to."""

    __slots__ = (
        "away",
        "broker",
        "connected",
        "connections",
        "link_down",
        "link_up",
        "machine",
        "name",
        "wake_at",
    )

    def __init__(self, name: str, machine: Machine, broker: str) -> None:
        self.name = name
        self.machine = machine
        self.broker = broker
        self.connected = False
        self.connections = 0
        self.away = False
        self.wake_at: Instant | None = None
        self.link_up: SimLink
        self.link_down: SimLink

    @property
    def session(self) -> LinkName:
        """The broker's name for the connection; each connection has its own."""
        return f"client/{self.name}/{self.connections}"


class SimWorld:
    """All parts of a simulated run."""

    def __init__(
        self,
        seed: int,
        *,
        on_trace: Callable[[TraceRecord], None] | None = None,
        checked: bool = False,
        digested: bool = False,
        reconnect_ns: Duration = SECOND // 10,
    ) -> None:
        """``checked`` checks every machine's invariants after each fact, and that every message
        respects the limits that the network world enforces; ``digested`` hashes all events, for
        comparing runs.
        """
        self.seed = seed
        self.scheduler = Scheduler(EPOCH)
        self.brokers: dict[str, SimBroker] = {}
        self.links: dict[tuple[str, str], SimLink] = {}
        self.clients: dict[str, SimClient] = {}
        self._sessions: dict[LinkName, SimClient] = {}
        self._meter = SizeMeter()
        self._on_trace = on_trace
        self.checked = checked
        self._digest = xxhash.xxh3_64() if digested else None
        self._reconnect_ns = reconnect_ns
        self._cut: set[frozenset[str]] = set()
        self._had_waiting: tuple[str, ...] = ()
        self.failures: list[str] = []
        """Descriptions of the machines that raised."""

    @property
    def now(self) -> Instant:
        return self.scheduler.now

    @property
    def digest(self) -> str:
        """A hash of all events so far."""
        assert self._digest is not None, "this world was created without a digest"
        return self._digest.hexdigest()

    # -- building ---------------------------------------------------------------------------

    def add_broker(self, config: NodeConfig, disk: DiskModel | None = None) -> None:
        """Add a broker that is down until ``start``."""
        self.brokers[config.name] = SimBroker(config, SimDisk(disk or DiskModel(), self.scheduler))

    def add_link(self, first: str, second: str, model: LinkModel) -> None:
        for here, there in ((first, second), (second, first)):
            self.links[here, there] = SimLink(
                f"{here}->{there}",
                model,
                self.scheduler,
                random_stream(self.seed, here, there, "link"),
                self._arrival(there, here),
            )

    def _arrival(self, broker: str, link: LinkName) -> Callable[[Any], None]:
        return lambda message: self._tell_broker(broker, Received(link, message))

    def add_client(
        self, name: str, machine: Machine, broker: str, model: LinkModel | None = None
    ) -> None:
        """Add a client that connects to a broker, and reconnects when the connection breaks."""
        client = self.clients[name] = SimClient(name, machine, broker)
        used = model or LinkModel(latency_ns=SECOND // 10_000, queue_bytes=1 << 40)
        client.link_up = SimLink(
            f"{name}->{broker}",
            used,
            self.scheduler,
            random_stream(self.seed, name, "up"),
            lambda message: self._tell_broker(broker, Received(client.session, message)),
        )
        client.link_down = SimLink(
            f"{broker}->{name}",
            used,
            self.scheduler,
            random_stream(self.seed, name, "down"),
            lambda message: self._tell_client(client, Received(BROKER, message)),
        )
        self.scheduler.at(self.now, self._connect, client)

    # -- running ----------------------------------------------------------------------------

    def start(self, names: Iterable[str] | None = None) -> None:
        """Start these brokers, or all of them, and bring up every link between them."""
        for name in self.brokers if names is None else names:
            self.restart(name)
        self._measure_queues()

    def run_for(self, duration: Duration) -> None:
        self.scheduler.run_until(self.now + duration)

    def run_until(self, instant: Instant) -> None:
        self.scheduler.run_until(instant)

    # -- faults -----------------------------------------------------------------------------

    def crash(self, name: str) -> None:
        """Simulate a power loss: the broker loses its memory and the unsynced data of its disk."""
        broker = self.brokers[name]
        if broker.node is None:
            return
        broker.node = None
        broker.wake_at = None
        broker.paused_until = 0
        broker.held.clear()
        broker.disk.crash(random_stream(self.seed, name, "crash", str(self.now)))
        for here, there in self.links:
            if here == name:
                self._lower(here, there)
        for client in self.clients.values():
            if client.broker == name and client.connected:
                self._disconnect(client)

    def restart(self, name: str) -> None:
        """Start a broker from its disk."""
        broker = self.brokers[name]
        if broker.node is not None:
            return
        store = broker.disk.store
        broker.node = BrokerNode(
            broker.config, saved=store.load_state(), logs=recovered_logs(store), now=self.now
        )
        broker.disk.attach(lambda fact: self._tell_broker(name, fact))
        self._carry_out(name, broker.node.start(now=self.now))
        self._arm(name)
        for here, there in self.links:
            if here == name:
                self._raise(here, there)

    def cut(self, first: str, second: str) -> None:
        """Take a link down; it loses everything on it."""
        self._cut.add(frozenset((first, second)))
        self._lower(first, second)

    def mend(self, first: str, second: str) -> None:
        """Bring a link up again."""
        self._cut.discard(frozenset((first, second)))
        self._raise(first, second)

    def set_bandwidth(self, first: str, second: str, bytes_per_s: int) -> None:
        """Limit a link in both directions; 0 means unlimited."""
        self.links[first, second].set_bandwidth(bytes_per_s)
        self.links[second, first].set_bandwidth(bytes_per_s)

    def set_path(
        self,
        first: str,
        second: str,
        *,
        latency_ns: Duration | None = None,
        jitter_ns: Duration | None = None,
        loss: float | None = None,
    ) -> None:
        """Change what a link does to messages, in both directions; None keeps a value."""
        for link in (self.links[first, second], self.links[second, first]):
            link.set_path(latency_ns, jitter_ns, loss)

    def fill_disk(self, name: str, *, full: bool) -> None:
        """Make a broker's disk full, or give it space again."""
        self.brokers[name].disk.store.full = full

    def fail_sync(self, name: str) -> None:
        """Make the next sync of a broker's disk fail; the disk works again after a crash."""
        self.brokers[name].disk.store.failing_sync = True

    def damage_log(self, name: str, prefix: str) -> tuple[str, Interval] | None:
        """Make one durable record of a log with this prefix unreadable; returns which, if any."""
        store = self.brokers[name].disk.store
        random = random_stream(self.seed, name, "damage", str(self.now))
        logs = [log for log in store.log_names() if log.startswith(prefix)]
        log = random.choice(logs) if logs else ""
        lost = store.damage(log, random)
        return None if lost is None else (log.removeprefix(prefix), lost)

    def drop_client(self, name: str) -> None:
        """Break a client's connection; the client reconnects."""
        client = self.clients[name]
        if client.connected:
            self._tell_broker(client.broker, SessionClosed(client.session))
            self._disconnect(client)

    def leave(self, name: str) -> None:
        """Disconnect a client until ``come_back``."""
        self.clients[name].away = True
        self.drop_client(name)

    def come_back(self, name: str) -> None:
        """Reconnect a client that has left."""
        client = self.clients[name]
        if client.away:
            client.away = False
            self.scheduler.at(self.now, self._connect, client)

    def ask(self, name: str) -> None:
        """Ask a client for messages to send, after an action of its application."""
        self._tell_client(self.clients[name], DeadlineReached())

    # -- links ------------------------------------------------------------------------------

    def trace_links(self, interval: Duration) -> None:
        """Measure every link between brokers now and after every interval."""
        if self._on_trace is None:
            return
        for (here, _), link in self.links.items():
            for metric, value in link.statistics():
                self._on_trace(TraceRecord(self.now, here, link.name, metric, value))
        self.scheduler.at(self.now + interval, self.trace_links, interval)

    def _measure_queues(self) -> None:
        """Report queue lengths to every broker, as the network world does."""
        waiting: dict[str, dict[str, int]] = {}
        flows: dict[str, dict[str, dict[str, int]]] = {}
        active: dict[str, None] = {}
        for (here, there), link in self.links.items():
            if link.took_bytes():
                active[here] = None
            if link.flow_bytes:
                flows.setdefault(here, {})[there] = dict(link.flow_bytes)
            if link.buffered_bytes:
                waiting.setdefault(here, {})[there] = link.buffered_bytes
        for name in dict.fromkeys((*waiting, *flows, *active, *self._had_waiting)):
            self._tell_broker(name, QueuesMeasured(waiting.get(name, {}), flows.get(name, {})))
        self._had_waiting = tuple(dict.fromkeys((*waiting, *flows)))
        self.scheduler.at(self.now + MEASURE_QUEUES_EVERY, self._measure_queues)

    def _raise(self, first: str, second: str) -> None:
        if frozenset((first, second)) in self._cut or self.links[first, second].up:
            return
        if self.brokers[first].node is None or self.brokers[second].node is None:
            return
        self.links[first, second].raise_up()
        self.links[second, first].raise_up()
        self._tell_broker(first, LinkUp(second))
        self._tell_broker(second, LinkUp(first))

    def _lower(self, first: str, second: str) -> None:
        if not self.links[first, second].up:
            return
        self.links[first, second].fail()
        self.links[second, first].fail()
        self._tell_broker(first, LinkDown(second))
        self._tell_broker(second, LinkDown(first))

    def _connect(self, client: SimClient) -> None:
        if client.away or client.connected:
            return
        if self.brokers[client.broker].node is None:
            self.scheduler.at(self.now + self._reconnect_ns, self._connect, client)
            return
        client.connected = True
        client.connections += 1
        self._sessions[client.session] = client
        client.link_up.raise_up()
        client.link_down.raise_up()
        self._tell_broker(client.broker, SessionOpened(client.session))
        self._tell_client(client, LinkUp(BROKER))

    def _disconnect(self, client: SimClient) -> None:
        client.connected = False
        del self._sessions[client.session]
        client.link_up.fail()
        client.link_down.fail()
        self._tell_client(client, LinkDown(BROKER))
        self.scheduler.at(self.now + self._reconnect_ns, self._connect, client)

    # -- driving the machines ---------------------------------------------------------------

    def pause(self, name: str, for_ns: Duration) -> None:
        """Take the processor from a broker for a while: what arrives waits."""
        broker = self.brokers[name]
        until = self.now + for_ns
        if broker.node is not None and until > broker.paused_until:
            broker.paused_until = until
            self.scheduler.at(until, self._resume, name, until)

    def _resume(self, name: str, until: Instant) -> None:
        broker = self.brokers[name]
        if broker.paused_until != until:
            return
        held, broker.held = broker.held, []
        for fact in held:
            self._tell_broker(name, fact)
        self._arm(name)

    def _tell_broker(self, name: str, fact: Fact) -> None:
        broker = self.brokers[name]
        node = broker.node
        if node is None:
            return
        if broker.paused_until > self.scheduler.now:
            if not isinstance(fact, DeadlineReached):
                broker.held.append(fact)
            return
        self.note(name, fact)
        if self.checked and isinstance(fact, Received):
            self._check_limits(fact.message)
        try:
            effects = node.handle(fact, now=self.scheduler.now)
        except Exception as error:
            self._fail(name, MachineFailed(name, fact, error))
            return
        self._carry_out(name, effects)
        if self.checked:
            node.check_invariants()
        self._arm(name)

    def _check_limits(self, message: Any) -> None:
        """Check a message against the limits that a decoder would enforce; none runs here."""
        problem = violation(message) or objection(message)
        if problem:
            raise LimitBroken(f"{problem}, in a simulated run with seed {self.seed}")

    def _fail(self, name: str, failure: MachineFailed) -> None:
        if self.checked:
            failure.add_note(f"in a simulated run with seed {self.seed}")
            raise failure
        self.failures.append(str(failure))
        self.crash(name)
        self.scheduler.at(self.now + RESTART_AFTER_FAILURE, self.restart, name)

    def _arm(self, name: str) -> None:
        broker = self.brokers[name]
        if broker.node is None:
            return
        deadline = broker.node.next_deadline()
        if deadline is not None and (broker.wake_at is None or deadline < broker.wake_at):
            broker.wake_at = deadline
            self.scheduler.at(deadline, self._wake, name, deadline)

    def _wake(self, name: str, deadline: Instant) -> None:
        broker = self.brokers[name]
        if broker.wake_at != deadline or broker.node is None:
            return
        broker.wake_at = None
        due = broker.node.next_deadline()
        if due is not None and due <= self.now:
            self._tell_broker(name, DeadlineReached())
        else:
            self._arm(name)

    def _carry_out(self, name: str, effects: list[Effect]) -> None:
        disk = self.brokers[name].disk
        for effect in effects:
            if type(effect) is Send:
                self._send(name, effect)
            elif type(effect) is SendBestEffort:
                self._send_best_effort(name, effect)
            elif isinstance(effect, Persist | PersistState):
                disk.order(effect)
            elif isinstance(effect, ReadLog):
                disk.read(effect)
            elif isinstance(effect, TrimLog):
                disk.trim(effect)
            elif isinstance(effect, CloseSession):
                self._close_session(effect)
            elif isinstance(effect, Trace):
                self._trace(effect)
            else:
                raise UnknownEffect(f"broker {name!r} ordered {effect!r}")

    def _trace(self, effect: Trace) -> None:
        if self._on_trace is not None:
            self._on_trace(effect.record)

    def _send(self, name: str, effect: Send) -> None:
        link = self.links.get((name, effect.link))
        if link is None:
            client = self._sessions.get(effect.link)
            if client is None:
                return
            client.link_down.send(effect.message, UNMEASURED, effect.priority)
            return
        size = self._meter.size(effect.message)
        link.send(effect.message, size, effect.priority, effect.flow)

    def _send_best_effort(self, name: str, effect: SendBestEffort) -> None:
        link = self.links.get((name, effect.link))
        if link is not None:
            fixed = link.model.best_effort_bytes
            link.send_best_effort(effect.message, fixed or self._meter.size(effect.message))
            return
        client = self._sessions.get(effect.link)
        if client is not None:
            client.link_down.send_best_effort(effect.message, UNMEASURED)

    def _close_session(self, effect: CloseSession) -> None:
        client = self._sessions.get(effect.session)
        if client is not None:
            self._disconnect(client)
            # Told to the broker after it has carried out the effects of the current fact.
            closed = SessionClosed(effect.session)
            self.scheduler.at(self.now, self._tell_broker, client.broker, closed)

    def _tell_client(self, client: SimClient, fact: Fact) -> None:
        self.note(client.name, fact)
        now = self.scheduler.now
        for effect in client.machine.handle(fact, now=now):
            if isinstance(effect, Send):
                client.link_up.send(effect.message, UNMEASURED, effect.priority)
            elif isinstance(effect, SendBestEffort):
                client.link_up.send_best_effort(effect.message, UNMEASURED)
            elif isinstance(effect, Trace):
                self._trace(effect)
            elif not isinstance(effect, ToApplication):
                raise UnknownEffect(f"client {client.name!r} ordered {effect!r}")
        deadline = client.machine.next_deadline()
        if deadline is not None and (client.wake_at is None or deadline < client.wake_at):
            client.wake_at = deadline
            self.scheduler.at(deadline, self._wake_client, client, deadline)

    def _wake_client(self, client: SimClient, deadline: Instant) -> None:
        if client.wake_at == deadline:
            client.wake_at = None
            self._tell_client(client, DeadlineReached())

    def note(self, name: str, fact: Any) -> None:
        """Add a fact to the digest, if there is one."""
        if self._digest is not None:
            what = type(fact).__name__
            if isinstance(fact, Received):
                what += type(fact.message).__name__ + str(self._meter.size(fact.message))
            self._digest.update(f"{self.scheduler.now} {name} {what}".encode())
