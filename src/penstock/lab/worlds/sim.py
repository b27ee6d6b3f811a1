"""A scenario in the simulated world."""

from __future__ import annotations

import msgspec

from penstock.client.guaranteed.reader import ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.core.clock import milliseconds, seconds
from penstock.core.randomness import random_stream
from penstock.lab.result import RunResult
from penstock.lab.scenario.file import guaranteed_parameters
from penstock.lab.scenario.model import Fault, Publishers, Scenario, Subscribers, grown, source_spec
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.overlay.node import node_config
from penstock.sim.disk import DiskModel
from penstock.sim.history import History, PublisherHistory, SubscriberHistory
from penstock.sim.judgement import Judgement, judge
from penstock.sim.link import LinkModel
from penstock.sim.message_source import MessageSource
from penstock.sim.workload import Pace, SimPublisher, SimSubscriber
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
        self.scenario = scenario
        self.seed = seed
        self.history = History()
        self.telemetry = telemetry or Telemetry()
        self.world = SimWorld(seed, on_trace=self.telemetry.add, checked=checked, digested=digested)
        self._digested = digested

    def open(self) -> None:
        """Start every broker and bring up every link."""
        scenario = self.scenario
        interval = seconds(scenario.trace_interval_s)
        for name, broker in scenario.brokers.items():
            config = node_config(
                name,
                _neighbours(scenario, name),
                pubends=scenario.pubends_of(name),
                guaranteed=guaranteed_parameters(scenario, name),
                trace_interval_ns=interval,
            )
            self.world.add_broker(config, DiskModel(sync_ns=milliseconds(broker.disk_sync_ms)))
        for link in scenario.links:
            model = LinkModel(
                link.bandwidth_bytes_per_s,
                milliseconds(link.latency_ms),
                milliseconds(link.jitter_ms),
                link.queue_bytes,
                link.loss,
                guaranteed_parameters(scenario, link.between[0]).links_are_fair,
            )
            self.world.add_link(*link.between, model)
        self.world.start(name for name, broker in scenario.brokers.items() if not broker.start_s)
        self.world.trace_links(interval)

    def start_broker(self, broker: str) -> None:
        """Start a broker that was unknown so far."""
        self.world.restart(broker)

    def run_until(self, at_s: float) -> None:
        self.world.run_until(EPOCH + seconds(at_s))

    def start_publisher(self, publisher: Publishers, stop_s: float) -> None:
        """Connect a publisher, which publishes until ``stop_s``."""
        source = MessageSource(source_spec(self.scenario, publisher), self.seed)
        history = self.history.add_publisher(PublisherHistory(publisher.name, source))
        pace = Pace(
            self.world.now,
            EPOCH + seconds(stop_s),
            publisher.rate_msgs_per_s,
            publisher.pattern,
            publisher.batch_rows,
            publisher.messages,
            publisher.max_in_flight,
        )
        random = random_stream(self.seed, publisher.name, "pace")
        instance = random_stream(self.seed, publisher.name, "instance").getrandbits(61)
        machine = SimPublisher(
            history, pace, random, producer=publisher.producer, instance=instance
        )
        self.world.add_client(publisher.name, machine, publisher.broker)

    def start_subscriber(self, subscriber: Subscribers) -> None:
        """Connect a subscriber."""
        history = self.history.add_subscriber(subscriber_history(self.scenario, subscriber))
        options = ReaderOptions(durable=subscriber.durable, window_bytes=subscriber.window_bytes)
        machine = SimSubscriber(
            history,
            Start(subscriber.start),
            options,
            read_msgs_per_s=subscriber.read_msgs_per_s,
        )
        self.world.add_client(subscriber.name, machine, subscriber.broker)

    def stop_client(self, name: str) -> None:
        """Stop a client for the rest of the run."""
        self.world.leave(name)
        if name in self.history.subscribers:
            self.history.subscribers[name].left_at = self.world.now

    def _damage(self, broker: str) -> None:
        damaged = self.world.damage_log(broker)
        if damaged is not None:
            pubend, (low, high) = damaged
            self.history.damage(pubend, low, high)

    def strike(self, fault: Fault) -> None:
        """Supports every fault; a fault of an absent client has no effect."""
        world = self.world
        match fault:
            case Fault(cut=(first, second)):
                world.cut(first, second)
            case Fault(mend=(first, second)):
                world.mend(first, second)
            case Fault(crash=str(broker)):
                world.crash(broker)
            case Fault(restart=str(broker)):
                world.restart(broker)
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
            case Fault(drop_client=str(client)) if client in world.clients:
                world.drop_client(client)
            case Fault(leave=str(client)) if client in world.clients:
                world.leave(client)
            case Fault(come_back=str(client)) if self._may_come_back(client):
                world.come_back(client)
            case Fault(close=str(client)) if client in world.clients:
                self._subscriber(client).close()
                world.ask(client)
            case Fault(reopen=str(client)) if self._may_come_back(client):
                self._subscriber(client).reopen(connected=world.clients[client].connected)
                world.ask(client)
            case Fault(add_pubend=str(broker)):
                self._add_pubend(broker)

    def _subscriber(self, client: str) -> SimSubscriber:
        machine = self.world.clients[client].machine
        assert isinstance(machine, SimSubscriber)
        return machine

    def _add_pubend(self, broker: str) -> None:
        """Restart a broker with one more pubend."""
        config = self.world.brokers[broker].config
        (settings,) = config.settings
        changed = msgspec.structs.replace(settings, pubends=grown(broker, settings.pubends))
        self.world.crash(broker)
        self.world.brokers[broker].config = msgspec.structs.replace(config, settings=(changed,))
        self.world.restart(broker)

    def _may_come_back(self, client: str) -> bool:
        """Whether a client exists and has not stopped for the rest of the run."""
        subscriber = self.history.subscribers.get(client)
        stopped = subscriber is not None and subscriber.left_at is not None
        return client in self.world.clients and not stopped

    def close(self) -> None:
        """Nothing to stop in virtual time."""
        self.telemetry.close()

    def result(self, judged: Judgement | None = None) -> RunResult:
        judged = judged or judge(self.history)
        judged.machine_failures = len(self.world.failures)
        for failure in self.world.failures:
            judged.tell(failure)
        return RunResult(
            self.scenario,
            self.name,
            self.seed,
            EPOCH,
            self.world.now,
            self.history,
            judged,
            self.telemetry,
            self.world.scheduler.events,
            self.world.digest if self._digested else "",
        )


def _neighbours(scenario: Scenario, broker: str) -> dict[str, int]:
    found = {}
    for link in scenario.links:
        if broker in link.between:
            first, second = link.between
            found[second if first == broker else first] = link.cost
    return found


def _trims(scenario: Scenario) -> bool:
    """Whether logs are trimmed within the run: then "earliest" means the oldest kept message."""
    keys = {"retain_for_ns", "retain_bytes"}
    tables = [scenario.parameters.guaranteed]
    tables += [broker.guaranteed for broker in scenario.brokers.values()]
    return any(keys & table.keys() for table in tables)


def subscriber_history(scenario: Scenario, subscriber: Subscribers) -> SubscriberHistory:
    """An empty history for a subscriber; both worlds fill it."""
    return SubscriberHistory(
        subscriber.name,
        subscriber.broker,
        subscriber.selector,
        from_earliest=subscriber.start == "earliest" and not _trims(scenario),
        durable=subscriber.durable,
        identified=all(each.identity == "payload" for each in scenario.publishers),
    )
