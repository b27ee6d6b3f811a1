"""Decides whether the guaranteed service may produce a history.

The rules, for each subscriber, in terms of what the applications saw:

1. *Nothing lost.*  An acknowledged message that matches the selector must have been received if it
   was submitted after the subscription was in force, or if an earlier message of the same
   publisher was received, or if the subscription began at the earliest message.
2. *Nothing twice.*  No message is received twice.
3. *In order.*  The messages of one publisher arrive in the order in which they were submitted, and
   the ticks of one pubend ascend.
4. *Nothing else.*  No message is received that was refused, that was never published, that does not
   match the selector, or whose content differs from the published content.
5. *In its place.*  Where the receipt named a tick, the message is received at that tick.
6. *Kept.*  A durable subscription receives no loss notice for messages that were published after it
   was in force, on the pubends on which it had a position then: its claims keep their logs.  Damage
   on the disk is excused.

Pairs of a publisher and a subscriber without any violation, which are nearly all, are recognised
with arrays (penstock.sim.screening); for the others the rules are applied message by message.

Selectors are evaluated by their definition (``selectors/rowwise``), not by the index that brokers
use.  A loss that was announced to the subscriber excuses the messages of that interval: those whose
receipts place them in it, and those whose receipts name no tick and that may lie in it, judging by
their neighbours.  Announced losses are counted separately.  A message with an uncertain outcome may
be received or not.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from penstock.content.selectors.parser import parse
from penstock.core.intervals import IntervalSet, Tick
from penstock.sim.history import History, Outcome, PublisherHistory, SubscriberHistory
from penstock.sim.message_source import fingerprint
from penstock.sim.receptions import Received, Reception, Receptions, messages_by_tick
from penstock.sim.screening import Selection, is_spotless, required

MAX_EXAMPLES = 10
"""How many violations are described in words; all are counted."""


class Judgement(msgspec.Struct):
    """The number of violations of each rule, with the first few described in words."""

    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    unwanted: int = 0
    corrupted: int = 0
    misplaced: int = 0
    announced_lost: int = 0
    let_go: int = 0
    machine_failures: int = 0
    """How many machines raised; the world adds them, because no application sees them."""
    examples: list[str] = []

    @property
    def violations(self) -> int:
        """Violations of all rules; an announced loss violates only the sixth."""
        return (
            self.lost
            + self.duplicated
            + self.out_of_order
            + self.unwanted
            + self.corrupted
            + self.misplaced
            + self.let_go
            + self.machine_failures
        )

    def tell(self, what: str) -> None:
        """Keep an example, unless there are enough already."""
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(what)


def judge(history: History) -> Judgement:
    """Apply the rules to a history."""
    judgement = Judgement()
    by_hash = {each.source.producer_hash: each for each in history.publishers.values()}
    by_tick = messages_by_tick(history)
    for subscriber in history.subscribers.values():
        _check_ticks(subscriber, judgement)
        received = Received(subscriber, by_hash, by_tick)
        for publisher in history.publishers.values():
            _judge_pair(publisher, subscriber, received.of(publisher), judgement)
        for where in received.strangers:
            judgement.unwanted += 1
            judgement.tell(f"{subscriber.name} received an unpublished message at {where}")
        judgement.announced_lost += len(subscriber.announced_losses)
        if subscriber.durable:
            _judge_losses(subscriber, history.damaged, judgement)
    return judgement


def _judge_losses(
    subscriber: SubscriberHistory, damaged: Mapping[str, IntervalSet], judgement: Judgement
) -> None:
    if subscriber.in_force_at is None:
        return
    for pubend, low, high in subscriber.announced_losses:
        if pubend in damaged and damaged[pubend].covers(low, high):
            continue
        if pubend in subscriber.in_force_on and high > subscriber.in_force_at:
            judgement.let_go += 1
            lost = f"[{low}, {high}) of {pubend}"
            judgement.tell(f"{subscriber.name}, which is durable, got a loss notice for {lost}")


def _check_ticks(subscriber: SubscriberHistory, judgement: Judgement) -> None:
    last: dict[int, Tick] = {}
    for place, tick in zip(subscriber.pubend_places, subscriber.ticks, strict=True):
        before = last.get(place, -1)
        if tick <= before:
            judgement.out_of_order += 1
            pubend = subscriber.pubends[place]
            judgement.tell(f"{subscriber.name} received tick {tick} of {pubend} after {before}")
        last[place] = tick


def _judge_pair(
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    receptions: Receptions,
    judgement: Judgement,
) -> None:
    selection = Selection(publisher.source, parse(subscriber.selector))
    if is_spotless(publisher, subscriber, receptions, selection):
        return
    seen: set[int] = set()
    highest = -1
    for reception in receptions:
        number = reception.number
        if number in seen:
            judgement.duplicated += 1
            judgement.tell(f"{subscriber.name} received {_name(publisher, number)} twice")
        elif number < highest:
            judgement.out_of_order += 1
            judgement.tell(
                f"{subscriber.name} received {_name(publisher, number)} after message {highest}"
            )
        seen.add(number)
        highest = max(highest, number)
        _judge_content(publisher, subscriber, selection, reception, judgement)
    for number in np.flatnonzero(required(publisher, subscriber, receptions)).tolist():
        if number in seen or not selection.holds(number):
            continue
        judgement.lost += 1
        judgement.tell(
            f"{subscriber.name} never received message {number} of {publisher.name}, "
            f"acknowledged at tick {publisher.ticks[number] or 'unknown'}"
        )


def _name(publisher: PublisherHistory, number: int) -> str:
    return f"message {number} of {publisher.name}"


def _judge_content(
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    selection: Selection,
    reception: Reception,
    judgement: Judgement,
) -> None:
    number = reception.number
    if publisher.outcomes[number] == Outcome.REFUSED:
        judgement.unwanted += 1
        judgement.tell(f"{subscriber.name} received {_name(publisher, number)}, which was refused")
    elif not selection.holds(number):
        judgement.unwanted += 1
        judgement.tell(
            f"{subscriber.name} received {_name(publisher, number)}, which it did not select"
        )
    if reception.fingerprint is not None and reception.fingerprint != fingerprint(
        *publisher.source.row(number)
    ):
        judgement.corrupted += 1
        judgement.tell(
            f"{subscriber.name} received {_name(publisher, number)} with different content"
        )
    if publisher.ticks[number] not in (0, reception.tick):
        judgement.misplaced += 1
        judgement.tell(
            f"{subscriber.name} received {_name(publisher, number)} at tick {reception.tick}; "
            f"its receipt says {publisher.ticks[number]}"
        )
