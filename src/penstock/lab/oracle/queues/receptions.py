"""The messages of one producer as all consumers together received them, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.lab.oracle.queues.records import ConsumerHistory, Outcome, ProducerHistory

Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Receptions(NamedTuple):
    """One column for each property, one row for each reception."""

    consumers: Integers
    """Places in the list of consumers."""
    producers: npt.NDArray[np.uint64]
    numbers: Integers
    received_at: Integers
    consumed_at: Integers
    confirmed_at: Integers
    fingerprints: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.uint8]

    def where(self, chosen: Mask | Integers) -> Receptions:
        """The chosen rows."""
        columns: list[Any] = [column[chosen] for column in self]
        return Receptions(*columns)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return len(self.numbers) > 0


def receptions_of(consumers: Iterable[ConsumerHistory]) -> Receptions:
    """Everything that was received, by all consumers."""
    parts = [
        Receptions(
            np.full(len(each), place, np.int64),
            np.array(each.producers, np.uint64),
            np.array(each.numbers, np.int64),
            np.array(each.received_at, np.int64),
            np.array(each.consumed_at, np.int64),
            np.array(each.confirmed_at, np.int64),
            np.array(each.fingerprints, np.uint64),
            np.array(each.marks, np.uint8),
        )
        for place, each in enumerate(consumers)
    ]
    if not parts:
        parts = [receptions_of([ConsumerHistory("", "")])]
    whole = Receptions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return whole.where(np.argsort(whole.received_at, kind="stable"))


def split(
    receptions: Receptions, producers: Mapping[str, ProducerHistory]
) -> tuple[dict[str, Receptions], Receptions]:
    """The receptions of each producer, and those of messages that nobody sent."""
    unknown = np.ones(len(receptions.numbers), np.bool_)
    found = {}
    for name, producer in producers.items():
        if producer.source is None:
            continue
        sent = receptions.producers == np.uint64(producer.source.producer_hash)
        sent &= (receptions.numbers >= 0) & (receptions.numbers < len(producer))
        unknown &= ~sent
        found[name] = receptions.where(sent)
    return found, receptions.where(unknown)


def owed(producer: ProducerHistory, consumers: Iterable[ConsumerHistory]) -> Mask:
    """The confirmed messages of a producer that must have been consumed at the end.

    A message may stay in a queue for which no consumer is left that selects it.  Since it is not
    known to which of several queues a message went, all of them must have such a consumer.
    """
    found: Mask = producer.outcomes_array() == Outcome.CONFIRMED
    if producer.held_up or producer.source is None:
        return np.zeros(len(producer), np.bool_)
    staying = [each for each in consumers if each.stays]
    for queue in sorted(producer.queues):
        selectors = {each.selector for each in staying if each.queue == queue}
        if "" in selectors:
            continue
        taken = np.zeros(len(producer), np.bool_)
        for selector in sorted(selectors):
            taken |= selected(producer, selector)
        found &= taken
    return found


def selected(producer: ProducerHistory, selector: str) -> Mask:
    """The messages of a producer that a selector chooses, by its definition."""
    assert producer.source is not None, "it has sent something"
    parsed = parse(selector)
    known: dict[tuple[tuple[str, AttributeValue], ...], bool] = {}

    def chosen(number: int) -> bool:
        assert producer.source is not None
        attributes = producer.source.attributes(number)
        key = tuple(attributes.items())
        if key not in known:
            known[key] = selects(parsed, attributes)
        return known[key]

    return np.fromiter(map(chosen, range(len(producer))), np.bool_, len(producer))


def unconsumed(producer: ProducerHistory, receptions: Receptions) -> Mask:
    """The messages that no application has finished with."""
    left = np.ones(len(producer), np.bool_)
    left[receptions.numbers[receptions.consumed_at > 0]] = False
    return left
