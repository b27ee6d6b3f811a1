"""Decides whether the queue service may produce a history (docs/reference/queues.md).

The rules, in terms of what the applications saw:

1. *Nothing lost.*  A confirmed message is consumed, if every queue that it can be in has a consumer
   until the end of the run that selects it.  Other confirmed messages may still be in a queue;
   they are noted as ``left_in_queues``.
2. *Nothing twice.*  A message is in one queue only.  It is not received again after its
   acknowledgement was confirmed, nor without a mark that says so, unless a consumer closed and gave
   it back.  Marked repetitions are noted as ``redelivered``.
3. *Nothing else.*  No message is received that was refused, that was never sent, that was sent to
   another queue, or that the consumer did not select.
4. *Unchanged.*  The content is the sent content.  A dead letter has two attributes more.
5. *In order.*  What a producer sends to a queue of its own broker is received by each consumer in
   the order of sending.  Excepted are redelivered messages, and those that may have been given back
   by a consumer that closed: they go first.  Nothing is promised across an alias queue or links,
   where a broken connection lets later messages pass earlier ones.

A message with an uncertain outcome may be received or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from penstock.lab.oracle.judgement import Judgement, judgement_of
from penstock.lab.oracle.queues.receptions import (
    Receptions,
    owed,
    receptions_of,
    selected,
    split,
    unconsumed,
)
from penstock.lab.oracle.queues.records import (
    DEAD_LETTER,
    REDELIVERED,
    ConsumerHistory,
    Outcome,
    ProducerHistory,
)

LOST: Final = "lost"
DUPLICATED: Final = "duplicated"
OUT_OF_ORDER: Final = "out_of_order"
UNWANTED: Final = "unwanted"
CORRUPTED: Final = "corrupted"
RULES: Final = (LOST, DUPLICATED, OUT_OF_ORDER, UNWANTED, CORRUPTED)

REDELIVERIES: Final = "redelivered"
LEFT: Final = "left_in_queues"
DEAD_LETTERS: Final = "dead_letters"
NOTED: Final = (REDELIVERIES, LEFT, DEAD_LETTERS)


def judge(
    producers: Mapping[str, ProducerHistory], consumers: Sequence[ConsumerHistory]
) -> Judgement:
    """Apply the rules to what these producers and consumers saw."""
    judgement = judgement_of(RULES, NOTED)
    by_producer, unknown = split(receptions_of(consumers), producers)
    for place in unknown.consumers.tolist():
        judgement.count(UNWANTED, f"{consumers[place].name} received a message that nobody sent")
    for name, receptions in by_producer.items():
        _Judge(producers[name], consumers, receptions, judgement).apply()
    return judgement


class _Judge:
    """Judges the messages of one producer."""

    def __init__(
        self,
        producer: ProducerHistory,
        consumers: Sequence[ConsumerHistory],
        receptions: Receptions,
        judgement: Judgement,
    ) -> None:
        self._producer = producer
        self._consumers = consumers
        self._receptions = receptions
        self._judgement = judgement

    def apply(self) -> None:
        self._judge_losses()
        if not self._receptions:
            return
        self._judge_admission()
        self._judge_content()
        letters = (self._receptions.marks & DEAD_LETTER) > 0
        self._judgement.note(DEAD_LETTERS, int(letters.sum()))
        usual = self._receptions.where(~letters)
        self._judge_queues(usual)
        self._judge_repetitions(usual)
        if self._producer.in_order:
            self._judge_order(usual)

    def _message(self, number: int) -> str:
        return f"message {number} of {self._producer.name}"

    # -- rule 1 -----------------------------------------------------------------------------

    def _judge_losses(self) -> None:
        producer = self._producer
        missing = unconsumed(producer, self._receptions)
        missing &= producer.outcomes_array() == Outcome.CONFIRMED
        must = owed(producer, self._consumers)
        self._judgement.note(LEFT, int((missing & ~must).sum()))
        for number in np.flatnonzero(missing & must).tolist():
            self._judgement.count(
                LOST, f"{self._message(number)} was confirmed, and nobody consumed it"
            )

    # -- rule 2 -----------------------------------------------------------------------------

    def _judge_repetitions(self, receptions: Receptions) -> None:
        for rows in _repetitions(receptions):
            for row in range(1, len(rows.numbers)):
                broken = self._broken_by(rows, row)
                if not broken:
                    self._judgement.note(REDELIVERIES)
                    continue
                name = self._consumers[int(rows.consumers[row])].name
                message = self._message(int(rows.numbers[row]))
                self._judgement.count(DUPLICATED, f"{name} received {message} again, {broken}")

    def _broken_by(self, rows: Receptions, row: int) -> str:
        """Why a message may not be received again; empty if it may."""
        at = int(rows.received_at[row])
        here = self._consumers[int(rows.consumers[row])].queue
        earlier = [self._consumers[int(place)] for place in rows.consumers[:row]]
        elsewhere = {each.queue for each in earlier} - {here}
        if elsewhere:
            return f"from {here}; it was in {', '.join(sorted(elsewhere))} before"
        confirmed = rows.confirmed_at[:row]
        if ((confirmed > 0) & (confirmed <= at)).any():
            return "after its acknowledgement was confirmed"
        if rows.marks[row] & REDELIVERED:
            return ""
        returned = any(
            received <= closed <= at
            for each, received in zip(earlier, rows.received_at[:row].tolist(), strict=True)
            for closed in each.closed_at
        )
        return "" if returned else "without a mark"

    # -- rules 3 and 4 ----------------------------------------------------------------------

    def _judge_admission(self) -> None:
        receptions = self._receptions
        refused = self._producer.outcomes_array()[receptions.numbers] == Outcome.REFUSED
        self._unwanted(receptions.where(refused), "which was refused")
        for place, consumer in enumerate(self._consumers):
            if consumer.selector:
                mine = receptions.where(receptions.consumers == place)
                if mine:
                    wanted = selected(self._producer, consumer.selector)
                    self._unwanted(mine.where(~wanted[mine.numbers]), "which it did not select")

    def _judge_queues(self, receptions: Receptions) -> None:
        for place, consumer in enumerate(self._consumers):
            if consumer.queue not in self._producer.queues:
                mine = receptions.where(receptions.consumers == place)
                self._unwanted(mine, f"which was not sent to {consumer.queue}")

    def _unwanted(self, receptions: Receptions, why: str) -> None:
        for place, number in zip(
            receptions.consumers.tolist(), receptions.numbers.tolist(), strict=True
        ):
            name = self._consumers[place].name
            self._judgement.count(UNWANTED, f"{name} received {self._message(number)}, {why}")

    def _judge_content(self) -> None:
        sent = np.array(self._producer.fingerprints, np.uint64)
        receptions = self._receptions
        wrong = receptions.where(sent[receptions.numbers] != receptions.fingerprints)
        for place, number in zip(wrong.consumers.tolist(), wrong.numbers.tolist(), strict=True):
            name = self._consumers[place].name
            self._judgement.count(
                CORRUPTED, f"{name} received {self._message(number)} with different content"
            )

    # -- rule 5 -----------------------------------------------------------------------------

    def _judge_order(self, receptions: Receptions) -> None:
        _, first = np.unique(receptions.numbers, return_index=True)
        once = np.zeros(len(receptions.numbers), np.bool_)
        once[first] = True
        fresh = receptions.where(once & ((receptions.marks & REDELIVERED) == 0))
        for place, consumer in enumerate(self._consumers):
            mine = fresh.where(fresh.consumers == place)
            if not mine:
                continue
            highest = np.maximum.accumulate(mine.numbers)
            for row in np.flatnonzero(mine.numbers < highest).tolist():
                number = int(mine.numbers[row])
                if self._may_be_returned(consumer.queue, number, int(mine.received_at[row])):
                    continue
                self._judgement.count(
                    OUT_OF_ORDER,
                    f"{consumer.name} received {self._message(number)} after message "
                    f"{highest[row]}",
                )

    def _may_be_returned(self, queue: str, number: int, at: int) -> bool:
        """Whether a consumer of the queue closed while it could have had the message."""
        sent_at = self._producer.submitted_at[number]
        return any(
            sent_at <= closed <= at
            for each in self._consumers
            if each.queue == queue
            for closed in each.closed_at
        )


def _repetitions(receptions: Receptions) -> Iterator[Receptions]:
    """The receptions of each message that was received several times, in order of time."""
    numbers, counts = np.unique(receptions.numbers, return_counts=True)
    repeated = receptions.where(np.isin(receptions.numbers, numbers[counts > 1]))
    ordered = repeated.where(np.argsort(repeated.numbers, kind="stable"))
    ends = np.cumsum(counts[counts > 1]).tolist()
    for low, high in zip([0, *ends], ends, strict=False):
        yield ordered.where(np.arange(low, high))
