"""Whether a history is one that the guaranteed service may produce.

The rules, for each subscriber, in terms of what the applications saw:

1. *Nothing lost.*  An acknowledged message that the selector selects must have been received if it
   was handed over after the subscription was in force, or if an earlier message of the same
   publisher was received, or if the subscription began at the earliest message.
2. *Nothing twice.*  No message is received twice.
3. *In order.*  The messages of one publisher arrive in the order in which they were handed over,
   and the ticks of one pubend ascend.
4. *Nothing else.*  No message is received that was refused, that nobody published, that the
   selector does not select, or whose content differs from what was published.
5. *In its place.*  Where the receipt named a tick, the message is received at that tick.

Selectors are evaluated by the definition (penstock.content.rowwise), not by the index that brokers
use.  A loss that was announced to the subscriber excuses the messages of that interval, where the
receipt tells that they lie in it; it is counted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from penstock.content.parser import parse
from penstock.content.rowwise import selects
from penstock.content.selector import Selector
from penstock.core.clock import Instant
from penstock.core.intervals import IntervalSet, Tick
from penstock.sim.history import History, Outcome, PublisherHistory, SubscriberHistory
from penstock.sim.message_source import MessageSource, fingerprint

MAX_EXAMPLES = 10
"""How many violations are told in words; all are counted."""


class Judgement(msgspec.Struct):
    """How often each rule was broken, with the first few examples in words."""

    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    unwanted: int = 0
    corrupted: int = 0
    misplaced: int = 0
    announced_lost: int = 0
    examples: list[str] = []

    @property
    def violations(self) -> int:
        """How often any rule was broken; an announced loss breaks none."""
        return (
            self.lost
            + self.duplicated
            + self.out_of_order
            + self.unwanted
            + self.corrupted
            + self.misplaced
        )

    def tell(self, what: str) -> None:
        """Keep an example, if there are not enough already."""
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(what)


def judge(history: History) -> Judgement:
    """Apply the rules to everything that happened."""
    judgement = Judgement()
    by_hash = {each.source.producer_hash: each for each in history.publishers.values()}
    by_tick = _messages_by_tick(history)
    for subscriber in history.subscribers.values():
        _check_ticks(subscriber, judgement)
        received = _Received(subscriber, by_hash, by_tick)
        for publisher in history.publishers.values():
            _judge_pair(publisher, subscriber, received.of(publisher), judgement)
        received.judge_strangers(judgement)
        judgement.announced_lost += len(subscriber.announced_losses)
    return judgement


class _Reception(msgspec.Struct, gc=False):
    """One message as a subscriber received it; a fingerprint of None is not to be checked."""

    number: int
    tick: Tick
    fingerprint: int | None


class _Received:
    """What one subscriber received, sorted by publisher."""

    def __init__(
        self,
        subscriber: SubscriberHistory,
        by_hash: dict[int, PublisherHistory],
        by_tick: dict[tuple[str, Tick], tuple[PublisherHistory, int]],
    ) -> None:
        self._subscriber = subscriber
        self._strangers: list[str] = []
        self._by_publisher: dict[str, list[_Reception]] = {}
        for place, tick in enumerate(subscriber.ticks):
            pubend = subscriber.pubends[subscriber.pubend_places[place]]
            if subscriber.identified:
                publisher = by_hash.get(subscriber.producers[place])
                number = subscriber.numbers[place]
                seen: int | None = subscriber.fingerprints[place]
            else:
                publisher, number = by_tick.get((pubend, tick), (None, -1))
                seen = None
                if publisher is None:
                    continue  # its receipt was lost with a connection: nobody knows which it is
            if publisher is None or not 0 <= number < len(publisher):
                self._strangers.append(f"tick {tick} of {pubend}")
                continue
            self._by_publisher.setdefault(publisher.name, []).append(_Reception(number, tick, seen))

    def of(self, publisher: PublisherHistory) -> list[_Reception]:
        """What came from one publisher, in order."""
        return self._by_publisher.get(publisher.name, [])

    def judge_strangers(self, judgement: Judgement) -> None:
        """Messages that nobody published."""
        for where in self._strangers:
            judgement.unwanted += 1
            judgement.tell(f"{self._subscriber.name} received at {where} what nobody published")


def _messages_by_tick(history: History) -> dict[tuple[str, Tick], tuple[PublisherHistory, int]]:
    """For messages that are recognised by their place: whose they are."""
    found = {}
    for publisher in history.publishers.values():
        if publisher.source.spec.identity == "tick":
            pubend = publisher.source.spec.pubend
            for number, tick in enumerate(publisher.ticks):
                if tick:
                    found[pubend, tick] = (publisher, number)
    return found


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
    receptions: list[_Reception],
    judgement: Judgement,
) -> None:
    selection = _Selection(publisher.source, parse(subscriber.selector))
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
    for number in _required(publisher, subscriber, receptions):
        if number in seen or not selection.holds(number):
            continue
        judgement.lost += 1
        judgement.tell(
            f"{subscriber.name} never received message {number} of {publisher.name}, "
            f"acknowledged at tick {publisher.ticks[number] or 'unknown'}"
        )


class _Selection:
    """Which messages of a source a selector selects; messages of equal content are asked once."""

    def __init__(self, source: MessageSource, selector: Selector) -> None:
        self._source = source
        self._selector = selector
        self._known: dict[int, bool] = {}

    def holds(self, number: int) -> bool:
        place = self._source.content_number(number)
        known = self._known.get(place)
        if known is None:
            known = selects(self._selector, self._source.attributes(place))
            self._known[place] = known
        return known


def _name(publisher: PublisherHistory, number: int) -> str:
    return f"message {number} of {publisher.name}"


def _judge_content(
    publisher: PublisherHistory,
    subscriber: SubscriberHistory,
    selection: _Selection,
    reception: _Reception,
    judgement: Judgement,
) -> None:
    number = reception.number
    if publisher.outcomes[number] == Outcome.REFUSED:
        judgement.unwanted += 1
        judgement.tell(f"{subscriber.name} received {_name(publisher, number)}, which was refused")
    elif not selection.holds(number):
        judgement.unwanted += 1
        judgement.tell(
            f"{subscriber.name} received {_name(publisher, number)}, which it did not ask for"
        )
    if reception.fingerprint is not None and reception.fingerprint != fingerprint(
        *publisher.source.row(number)
    ):
        judgement.corrupted += 1
        judgement.tell(
            f"{subscriber.name} received {_name(publisher, number)} with another content"
        )
    if publisher.ticks[number] not in (0, reception.tick):
        judgement.misplaced += 1
        judgement.tell(
            f"{subscriber.name} received {_name(publisher, number)} at tick {reception.tick}; "
            f"its receipt says {publisher.ticks[number]}"
        )


def _required(
    publisher: PublisherHistory, subscriber: SubscriberHistory, receptions: list[_Reception]
) -> Iterator[int]:
    """The acknowledged messages that must have been received if the selector selects them."""
    if subscriber.in_force_at is None:
        return
    first = min((reception.number for reception in receptions), default=len(publisher))
    last = len(publisher) - 1
    if subscriber.left_at is not None:
        last = max((reception.number for reception in receptions), default=-1)
    excused = IntervalSet(
        (low, high)
        for pubend, low, high in subscriber.announced_losses
        if pubend == publisher.source.spec.pubend
    )
    for number in range(last + 1):
        if publisher.outcomes[number] != Outcome.ACKNOWLEDGED:
            continue
        if publisher.ticks[number] in excused:
            continue
        if subscriber.from_earliest or number > first or _promised(publisher, number, subscriber):
            yield number


def _promised(publisher: PublisherHistory, number: int, subscriber: SubscriberHistory) -> bool:
    in_force_at: Instant | None = subscriber.in_force_at
    return in_force_at is not None and publisher.submitted_at[number] >= in_force_at
