"""Where the messages of a scenario's producers can be, and what keeps them there until the end.

1. A producer's messages reach the queue that it names, or the destinations of the alias queue.
2. A broker that is down at the end of the scenario, or whose disk is full or has failed since its
   last start, consumes and forwards nothing.  A link that is down at the end may hold up whatever
   has to cross it.
3. A consumer that has stopped, left or closed for good consumes nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lab.scenario.broker_tables import broker_tables
from penstock.lab.scenario.model import Broker, Fault, Scenario
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer
from penstock.services.queues.parameters import with_dead_letters
from penstock.services.queues.settings import QueuesTable


class Reach:
    """The queues of a scenario and their state at its end."""

    def __init__(self, scenario: Scenario) -> None:
        """``scenario`` has single tables."""
        self._scenario = scenario
        self.queues: set[str] = set()
        self.aliases: dict[str, frozenset[str]] = {}
        for broker in scenario.brokers:
            changes = [each.reconfigure for each in scenario.faults if each.reconfigure is not None]
            for keys in ({}, *(each.keys for each in changes if each.broker == broker.name)):
                for table in broker_tables(scenario, broker, keys):
                    if isinstance(table, QueuesTable):
                        self._add(broker.name, table)
        self._broken = _broken_brokers(scenario)
        self._cut = bool(_lasting(scenario.faults, "cut", "mend"))

    def _add(self, broker: str, table: QueuesTable) -> None:
        queues = with_dead_letters(tuple(table.queues.values()))
        self.queues |= {f"{each.name}@{broker}" for each in queues}
        for name, alias in table.aliases.items():
            address = f"{name}@{broker}"
            known = self.aliases.get(address, frozenset())
            self.aliases[address] = known | frozenset(alias.destinations)

    def at(self, broker: str) -> list[str]:
        """The names of the queues and alias queues of a broker."""
        ending = f"@{broker}"
        found = [each for each in (*self.queues, *self.aliases) if each.endswith(ending)]
        return sorted(each.removesuffix(ending) for each in found)

    def queues_of(self, producer: QueueProducer) -> frozenset[str]:
        """The queues that its messages can be consumed from."""
        return self.aliases.get(producer.address, frozenset((producer.address,)))

    def keeps_order(self, producer: QueueProducer) -> bool:
        """Whether its messages arrive in their queue as they were sent."""
        return producer.address in self.queues and producer.address.endswith(f"@{producer.broker}")

    def holds_up(self, producer: QueueProducer) -> bool:
        """Whether its messages may wait on their way at the end."""
        brokers = {each.rpartition("@")[2] for each in self.queues_of(producer)}
        brokers |= {producer.broker, producer.address.rpartition("@")[2]}
        return bool(brokers & self._broken) or (self._cut and len(brokers) > 1)

    def stays(self, consumer: QueueConsumer) -> bool:
        """Whether it consumes until the end."""
        scenario = self._scenario
        away = _lasting(scenario.faults, "leave", "come_back")
        away |= _lasting(scenario.faults, "close", "reopen")
        stopped = consumer.stop_s is not None and consumer.stop_s < scenario.duration_s
        return not stopped and consumer.name not in away and consumer.broker not in self._broken


def _broken_brokers(scenario: Scenario) -> set[str]:
    found = _lasting(scenario.faults, "fill_disk", "free_disk")
    return found | {each.name for each in scenario.brokers if _is_broken(each, scenario.faults)}


def _is_broken(broker: Broker, faults: Sequence[Fault]) -> bool:
    """Whether a broker is down at the end, or has run since its disk failed to sync."""
    events = [(broker.start_s, "restart")]
    events += [(each.at_s, each.kinds[0]) for each in faults if each.subject == broker.name]
    runs = failed = False
    for _, kind in sorted(events, key=lambda each: each[0]):
        match kind:
            case "restart":
                runs = True
            case "fail_sync":
                failed = True
            case "crash" | "reconfigure":
                failed = failed and not runs
                runs = kind == "reconfigure"
    return failed or not runs


def _lasting(faults: Sequence[Fault], begins: str, *ends: str) -> set[str]:
    """What a kind of fault has happened to without being ended."""
    found: set[str] = set()
    for fault in sorted(faults, key=lambda each: each.at_s):
        (kind,) = fault.kinds
        pair = fault.cut or fault.mend
        subject = "-".join(sorted(pair)) if pair else fault.subject
        if kind == begins:
            found.add(subject)
        elif kind in ends:
            found.discard(subject)
    return found
