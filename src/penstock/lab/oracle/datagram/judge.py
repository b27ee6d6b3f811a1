"""Decides whether the datagram service may produce a history (docs/reference/datagram.md).

The service is best effort: a message may be lost, and losses are noted, not counted as violations.
The rules, for each subscriber, in terms of what the applications saw:

1. *Nothing twice.*  No message is received twice.
2. *In order.*  The messages of one publisher arrive in the order in which they were sent, if there
   is a single path between any two brokers.  Where there are several, a message that is overtaken
   is noted.
3. *Nothing unwanted.*  No message is received that was refused, that was never published, or that
   does not match the selector.
4. *Nothing corrupted.*  Attributes and payload are those that were published.

Selectors are evaluated by their definition (``selectors/rowwise``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.lab.oracle.datagram.participants import (
    Numbers,
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.oracle.datagram.selection import Selections
from penstock.lab.oracle.judgement import Judgement, judgement_of
from penstock.lab.workloads.message_source import fingerprint

RULES: Final = {
    "duplicated": "messages that a subscriber received twice",
    "out_of_order": "messages that arrived after one that was sent later, on a single path",
    "unwanted": "messages that were received and not published, refused, or not selected",
    "corrupted": "messages whose content differs from what was published",
}

NOTED: Final = {
    "lost": "wanted messages that were sent and did not arrive",
    "overtaken": "messages that arrived after one that was sent later, on one of several paths",
}


def judge(
    publishers: Iterable[PublisherHistory],
    subscribers: Iterable[SubscriberHistory],
    selections: Selections,
    *,
    single_path: bool,
) -> Judgement:
    """Apply the rules to what these clients saw."""
    judgement = judgement_of(RULES, NOTED)
    contents = [_Contents(each) for each in publishers]
    for subscriber in subscribers:
        known = 0
        for expected in contents:
            publisher = expected.publisher
            places = selections.places(publisher, subscriber)
            known += len(places)
            numbers = np.array(subscriber.numbers, np.int64)[places]
            judgement.note("lost", len(selections.lost(publisher, subscriber)))
            if len(places):
                _judge_repeats(publisher, subscriber, numbers, judgement)
                if single_path:
                    _judge_order(publisher, subscriber, places, judgement)
                else:
                    judgement.note("overtaken", len(_overtaken(subscriber, places)))
                _judge_selection(selections, publisher, subscriber, numbers, judgement)
                _judge_contents(expected, subscriber, places, numbers, judgement)
        _judge_strangers(subscriber, known, judgement)
    return judgement


class _Contents:
    """The fingerprints of what a publisher published; each is computed once."""

    def __init__(self, publisher: PublisherHistory) -> None:
        self.publisher = publisher
        self._known: dict[int, int] = {}

    def fingerprint(self, number: int) -> int:
        known = self._known.get(number)
        if known is None:
            source = self.publisher.source
            known = fingerprint(source.attributes(number), source.payload(number))
            self._known[number] = known
        return known


def _judge_repeats(
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    numbers: Numbers,
    judgement: Judgement,
) -> None:
    distinct, counts = np.unique(numbers, return_counts=True)
    for number, count in zip(distinct[counts > 1], counts[counts > 1], strict=True):
        judgement.count(
            "duplicated",
            f"{subscriber.name} received {_name(publisher, number)} {count} times",
            int(count) - 1,
        )


def _overtaken(subscriber: SubscriberHistory, places: Numbers) -> Numbers:
    """Where messages of one publisher stand that were sent before one that arrived earlier."""
    sent_at = np.array(subscriber.sent_at, np.int64)[places]
    return places[sent_at < np.maximum.accumulate(sent_at)]


def _judge_order(
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    places: Numbers,
    judgement: Judgement,
) -> None:
    for place in _overtaken(subscriber, places):
        name = _name(publisher, subscriber.numbers[place])
        judgement.count(
            "out_of_order", f"{subscriber.name} received {name} after one that was sent later"
        )


def _judge_selection(
    selections: Selections,
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    numbers: Numbers,
    judgement: Judgement,
) -> None:
    outcomes = np.frombuffer(publisher.outcomes, np.uint8)
    for number in numbers[outcomes[numbers] == Outcome.REFUSED]:
        judgement.count(
            "unwanted",
            f"{subscriber.name} received {_name(publisher, number)}, which was refused",
        )
    rows = selections.rows[publisher.name]
    selector = parse(subscriber.selector)
    received_rows = rows.row_of_number[numbers]
    for row in np.unique(received_rows):
        if selects(selector, rows.attributes[row]):
            continue
        wrong = numbers[received_rows == row]
        judgement.count(
            "unwanted",
            f"{subscriber.name} received {_name(publisher, wrong[0])}, which does not match "
            f"{subscriber.selector!r}",
            len(wrong),
        )


def _judge_contents(
    expected: _Contents,
    subscriber: SubscriberHistory,
    places: Numbers,
    numbers: Numbers,
    judgement: Judgement,
) -> None:
    for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
        if subscriber.fingerprints[place] != expected.fingerprint(number):
            judgement.count(
                "corrupted",
                f"{subscriber.name} received {_name(expected.publisher, number)} with other "
                "content than was published",
            )


def _judge_strangers(subscriber: SubscriberHistory, known: int, judgement: Judgement) -> None:
    """Every message of this run carries the identity of a published one."""
    strangers = len(subscriber) - known
    if strangers:
        judgement.count(
            "unwanted",
            f"{subscriber.name} received {strangers} messages that nobody published",
            strangers,
        )


def _name(publisher: PublisherHistory, number: int) -> str:
    return f"message {number} of {publisher.name}"
