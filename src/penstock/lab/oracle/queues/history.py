"""What all applications of the queue service saw in a run, in either world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from penstock.core.clock import SECOND
from penstock.lab.oracle.history import Events, Metric, counted
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.oracle.queues.judge import (
    CORRUPTED,
    DEAD_LETTERS,
    DUPLICATED,
    LEFT,
    LOST,
    OUT_OF_ORDER,
    REDELIVERIES,
    UNWANTED,
    judge,
)
from penstock.lab.oracle.queues.receptions import owed, receptions_of, split, unconsumed
from penstock.lab.oracle.queues.records import ConsumerHistory, Outcome, ProducerHistory

_OUTCOMES: Final = {
    "confirmed": Outcome.CONFIRMED,
    "refused": Outcome.REFUSED,
    "uncertain": Outcome.UNCERTAIN,
}

METRICS: Final = {
    "consumed": Metric("messages that the applications of consumers have finished with"),
    "submitted": Metric("messages that producers have sent"),
    "confirmed": Metric("messages that producers know to be durable in a queue"),
    "refused": Metric("messages that a broker has refused"),
    "uncertain": Metric("messages whose producers cannot find out whether they are stored"),
    "delivered": Metric("messages that were given to the applications of consumers"),
    "delay_s": Metric("seconds from sending until a message was consumed", kind="sample"),
    LOST: Metric("confirmed messages that a consumer is due and did not consume", "rule"),
    DUPLICATED: Metric("messages that came again without a reason", "rule"),
    OUT_OF_ORDER: Metric("messages that a consumer received after a later one", "rule"),
    UNWANTED: Metric("messages that were refused, not sent there or not selected", "rule"),
    CORRUPTED: Metric("messages received with other content", "rule"),
    REDELIVERIES: Metric("messages that came again, with a reason; no rule is broken", "rule"),
    LEFT: Metric("confirmed messages left where nobody consumes; no rule is broken", "rule"),
    DEAD_LETTERS: Metric("dead letters that a consumer received; no rule is broken", "rule"),
}


class QueuesHistory:
    """The producers and consumers of a run."""

    def __init__(
        self, producers: Mapping[str, ProducerHistory], consumers: Mapping[str, ConsumerHistory]
    ) -> None:
        """All clients of the scenario, whether they have started or not."""
        self.producers = producers
        self.consumers = consumers

    @property
    def delivered(self) -> int:
        return sum(len(each) for each in self.consumers.values())

    @property
    def pending(self) -> int:
        """Messages without an outcome, and those that a consumer works on."""
        sent = sum(each.pending for each in self.producers.values())
        return sent + sum(each.in_hand for each in self.consumers.values())

    def complete(self) -> bool:
        """Whether every message is consumed that must be."""
        consumers = list(self.consumers.values())
        by_producer, _ = split(receptions_of(consumers), self.producers)
        return not any(
            (owed(producer, consumers) & unconsumed(producer, by_producer[name])).any()
            for name, producer in self.producers.items()
            if name in by_producer
        )

    def judge(self) -> Judgement:
        return judge(self.producers, list(self.consumers.values()))

    def events(self, metric: str) -> Mapping[str, Events]:
        match metric:
            case "submitted":
                return {name: counted(each.submitted_at) for name, each in self.producers.items()}
            case "delivered":
                return {name: counted(each.received_at) for name, each in self.consumers.items()}
            case "consumed":
                return {name: _consumed(each) for name, each in self.consumers.items()}
            case "delay_s":
                return self._delays()
            case _:
                outcome = _OUTCOMES[metric]
                return {name: _settled(each, outcome) for name, each in self.producers.items()}

    def totals(self) -> Iterator[tuple[str, str, int]]:
        for name, producer in self.producers.items():
            yield name, "submitted", len(producer)
            for metric, outcome in _OUTCOMES.items():
                yield name, metric, producer.outcomes.count(outcome)
        for name, consumer in self.consumers.items():
            yield name, "delivered", len(consumer)
            yield name, "consumed", len(_consumed(consumer).at)

    def _delays(self) -> dict[str, Events]:
        """From sending to each consumption, for messages that are known."""
        names = list(self.consumers)
        whole = receptions_of(self.consumers.values())
        by_producer, _ = split(whole.where(whole.consumed_at > 0), self.producers)
        parts: dict[str, list[Events]] = {name: [] for name in names}
        for producer, receptions in by_producer.items():
            sent_at = np.array(self.producers[producer].submitted_at, np.int64)
            delays = (receptions.consumed_at - sent_at[receptions.numbers]) / SECOND
            for place, name in enumerate(names):
                mine = receptions.consumers == place
                parts[name].append(Events(receptions.consumed_at[mine], delays[mine]))
        return {name: _joined(each) for name, each in parts.items()}


def _consumed(consumer: ConsumerHistory) -> Events:
    at = np.array(consumer.consumed_at, np.int64)
    return counted(at[at > 0])


def _settled(producer: ProducerHistory, outcome: Outcome) -> Events:
    at = np.array(producer.settled_at, np.int64)
    return counted(at[producer.outcomes_array() == outcome])


def _joined(parts: list[Events]) -> Events:
    if not parts:
        return counted(())
    at = np.concatenate([each.at for each in parts])
    order = np.argsort(at, kind="stable")
    return Events(at[order], np.concatenate([each.values for each in parts])[order])
