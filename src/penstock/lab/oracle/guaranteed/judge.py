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
with arrays (screening.py); for the others the rules are applied message by message.

Selectors are evaluated by their definition (``selectors/rowwise``), not by the index that brokers
use.  A loss that was announced to the subscriber excuses the messages of that interval: those whose
receipts place them in it, and those whose receipts name no tick and that may lie in it, judging by
their neighbours.  Announced losses are counted separately.  A message with an uncertain outcome may
be received or not.

A run gives messages time to arrive (``drain_s``), so that whatever is missing afterwards counts as
lost.  It is also noted how many of the lost messages are *unfinished*: the subscriber has received
no later message of the same publisher, so that they may still have been in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from penstock.content.selectors.parser import parse
from penstock.core.intervals import IntervalSet, Tick
from penstock.lab.oracle.guaranteed.history import (
    GuaranteedHistory,
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.oracle.guaranteed.receptions import (
    Received,
    Reception,
    Receptions,
    messages_by_tick,
)
from penstock.lab.oracle.guaranteed.screening import Selection, is_spotless, required
from penstock.lab.oracle.judgement import Judgement, judgement_of
from penstock.lab.workloads.message_source import fingerprint

LOST: Final = "lost"

RULES: Final = (
    LOST,
    "duplicated",
    "out_of_order",
    "unwanted",
    "corrupted",
    "misplaced",
    "let_go",
)

ANNOUNCED_LOST: Final = "announced_lost"
"""Loss notices, which excuse what they name; only the sixth rule forbids some of them."""

UNFINISHED: Final = "unfinished"
"""Lost messages that may still have been in flight: delivery is in order, and none came later."""


def judge(history: GuaranteedHistory) -> Judgement:
    """Apply the rules to a history."""
    judgement = judgement_of(RULES, (ANNOUNCED_LOST, UNFINISHED))
    by_hash = {each.source.producer_hash: each for each in history.publishers.values()}
    by_tick = messages_by_tick(history)
    for subscriber in history.subscribers.values():
        _check_ticks(subscriber, judgement)
        received = Received(subscriber, by_hash, by_tick)
        for publisher in history.publishers.values():
            _judge_pair(publisher, subscriber, received.of(publisher), judgement)
        for where in received.strangers:
            judgement.count(
                "unwanted", f"{subscriber.name} received an unpublished message at {where}"
            )
        judgement.note(ANNOUNCED_LOST, len(subscriber.announced_losses))
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
            lost = f"[{low}, {high}) of {pubend}"
            judgement.count(
                "let_go", f"{subscriber.name}, which is durable, got a loss notice for {lost}"
            )


def _check_ticks(subscriber: SubscriberHistory, judgement: Judgement) -> None:
    last: dict[int, Tick] = {}
    for place, tick in zip(subscriber.pubend_places, subscriber.ticks, strict=True):
        before = last.get(place, -1)
        if tick <= before:
            pubend = subscriber.pubends[place]
            judgement.count(
                "out_of_order", f"{subscriber.name} received tick {tick} of {pubend} after {before}"
            )
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
            judgement.count(
                "duplicated", f"{subscriber.name} received {_name(publisher, number)} twice"
            )
        elif number < highest:
            judgement.count(
                "out_of_order",
                f"{subscriber.name} received {_name(publisher, number)} after message {highest}",
            )
        seen.add(number)
        highest = max(highest, number)
        _judge_content(publisher, subscriber, selection, reception, judgement)
    for number in np.flatnonzero(required(publisher, subscriber, receptions)).tolist():
        if number in seen or not selection.holds(number):
            continue
        if number > highest:
            judgement.note(UNFINISHED)
        judgement.count(
            LOST,
            f"{subscriber.name} never received message {number} of {publisher.name}, "
            f"acknowledged at tick {publisher.ticks[number] or 'unknown'}",
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
        judgement.count(
            "unwanted", f"{subscriber.name} received {_name(publisher, number)}, which was refused"
        )
    elif not selection.holds(number):
        judgement.count(
            "unwanted",
            f"{subscriber.name} received {_name(publisher, number)}, which it did not select",
        )
    if reception.fingerprint is not None and reception.fingerprint != fingerprint(
        *publisher.source.row(number)
    ):
        judgement.count(
            "corrupted",
            f"{subscriber.name} received {_name(publisher, number)} with different content",
        )
    if publisher.ticks[number] not in (0, reception.tick):
        judgement.count(
            "misplaced",
            f"{subscriber.name} received {_name(publisher, number)} at tick {reception.tick}; "
            f"its receipt says {publisher.ticks[number]}",
        )
