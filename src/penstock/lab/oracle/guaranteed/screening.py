"""Checks with arrays, over all messages at once, that a publisher and a subscriber broke no rule.

The rules are those of judge.py.  The screening only confirms that none is broken;
violations are found message by message.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.content.rows.columns import Array, AttributeValue
from penstock.content.selectors.rowwise import selects
from penstock.content.selectors.selector import Selector
from penstock.core.clock import NEVER
from penstock.lab.oracle.guaranteed.history import Outcome, PublisherHistory, SubscriberHistory
from penstock.lab.oracle.guaranteed.receptions import Receptions
from penstock.lab.workloads.message_source import MessageSource

Mask: TypeAlias = npt.NDArray[np.bool_]


class Selection:
    """Which messages of a source match a selector; equal attributes are evaluated once."""

    def __init__(self, source: MessageSource, selector: Selector) -> None:
        self._source = source
        self._selector = selector
        self._known: dict[tuple[tuple[str, AttributeValue], ...], bool] = {}

    def holds(self, number: int) -> bool:
        """Whether a message matches."""
        attributes = self._source.attributes(number)
        key = tuple(attributes.items())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = selects(self._selector, attributes)
        return known

    def mask(self, count: int) -> Mask:
        """A mask of the first ``count`` messages."""
        different = min(count, self._source.different_messages or count)
        once = np.fromiter((self.holds(number) for number in range(different)), np.bool_, different)
        return np.resize(once, count) if count else once


def required(
    publisher: PublisherHistory, subscriber: SubscriberHistory, receptions: Receptions
) -> Mask:
    """The acknowledged messages that must have been received if they match the selector."""
    outcomes = np.array(publisher.outcomes)
    if subscriber.in_force_at is None:
        return np.zeros(len(outcomes), np.bool_)
    wanted: Mask = outcomes == Outcome.ACKNOWLEDGED
    numbers = receptions.numbers
    if subscriber.left_at is not None:
        wanted[int(numbers.max(initial=-1)) + 1 :] = False
    lowest, highest = _places(publisher)
    for pubend, low, high in subscriber.announced_losses:
        if pubend in publisher.pubends:
            wanted &= ~((highest >= low) & (lowest < high))
    if not subscriber.from_earliest:
        first = int(numbers.min(initial=len(outcomes)))
        promised = np.array(publisher.submitted_at) >= subscriber.in_force_at
        wanted &= promised | (np.arange(len(outcomes)) > first)
    return wanted


def _places(publisher: PublisherHistory) -> tuple[Array, Array]:
    """The lowest and highest possible tick of each message: its receipt's, or its neighbours'."""
    ticks = np.array(publisher.ticks)
    lowest = np.maximum.accumulate(ticks)
    later = np.where(ticks == 0, NEVER, ticks)
    highest = np.minimum.accumulate(later[::-1])[::-1]
    return lowest, highest


def is_spotless(
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    receptions: Receptions,
    selection: Selection,
) -> bool:
    """Whether no rule is broken; False also where contents have to be compared."""
    if receptions.fingerprints is not None:
        return False
    numbers = receptions.numbers
    if (np.diff(numbers) <= 0).any():
        return False
    wanted = selection.mask(len(publisher))
    if not wanted[numbers].all():
        return False
    if (np.array(publisher.outcomes)[numbers] == Outcome.REFUSED).any():
        return False
    missing = required(publisher, subscriber, receptions) & wanted
    missing[numbers] = False
    return not missing.any()
