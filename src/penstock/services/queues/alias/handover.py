"""Rows that an alias queue hands over to queues of its own broker.

Between two brokers the owner of a row is decided by a transaction (``alias/transaction``), because
either of them may be down when the other has to know.  Two queues of one broker have one store and
no link between them: they crash together, and every order is answered.  So:

1. While every destination that can take rows is a queue of this broker, rows are handed over: the
   queue stores them as its own, with the numbers that their producer gave them, and answers; then
   the producer gets its receipt.  The entry in the queue's journal is the decision: there is no
   note beside it, and the rows are never prepared.
2. Rows that a queue refuses, because it or its disk is full, are stored in the alias queue under
   new positions, and forwarded from there to any destination that can take them.
3. After a restart the journals of the queues say which numbers of which producers were handed
   over, so that a repeat is recognised.  Alias queues start when the queues of their broker have
   been read, and a queue retains the entries until the checkpoint of the alias queue has their
   numbers (``Remembered``).
4. Rows stay in order: nothing is handed over while earlier rows are in the alias queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.intervals import Interval
from penstock.core.machine import Effect
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.alias.pass_through import PassingRows, PassThrough
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import HandedOver, HandOver, Remembered
from penstock.services.queues.routing import SendWithinBroker


class Handover:
    """The rows that one alias queue hands over."""

    def __init__(
        self, alias: str, journal: Journal, entries: Entries, pass_through: PassThrough
    ) -> None:
        self._alias = alias
        self._journal = journal
        self._entries = entries
        self._pass_through = pass_through
        self._under_way: dict[int, PassingRows] = {}
        self._owing: dict[str, None] = {}
        """Queues that retain entries which the last checkpoint does not have."""
        self._saving: dict[str, None] = {}
        self._saving_below = 0

    # -- handing over -----------------------------------------------------------------------

    def ready(self) -> list[PassingRows]:
        """Remove and return the rows that may be handed over, unless earlier rows are here."""
        return [] if self._entries.rows else self._pass_through.take_for_handover()

    def hand_over(self, passing: PassingRows, counts: Mapping[str, int], out: list[Effect]) -> None:
        """Divide rows among queues of this broker: to each the next ``counts`` of them."""
        rows, low = passing.rows, passing.low
        for queue, count in counts.items():
            if count:
                self._under_way[low] = passing
                message = HandOver(
                    self._alias,
                    queue,
                    low,
                    rows.frame.slice(low, low + count).batch,
                    rows.priority,
                    rows.expires_at,
                    rows.origin,
                    passing.first_sequence(low),
                )
                out.append(SendWithinBroker(message))
                low += count

    def answered(self, message: HandedOver, out: list[Effect]) -> None:
        """A queue has stored rows, or refused them."""
        passing = self._under_way.pop(message.low)
        low, high = message.low, message.low + message.count
        if message.uncertain:
            # Stored again, here or elsewhere, they might be there twice after a restart.
            self._pass_through.unsure(passing, low, high, message.failure)
        elif message.failure:
            self._pass_through.store_again(passing, low, high, out)
        else:
            self._owing[message.queue] = None
            self._journal.request_checkpoint()
            self._pass_through.passed_messages += message.count
        if passing.done(low, high):
            self._pass_through.handed_over(passing)

    def under_way(self) -> list[Interval]:
        """The rows that were handed over and not answered."""
        runs = {id(passing): passing for passing in self._under_way.values()}
        return [part for passing in runs.values() for part in passing.without_owner]

    # -- what a restart must know -----------------------------------------------------------

    def recovered(self, queue: str, origins: Iterable[OriginRange]) -> None:
        """A queue's journal says that it was given rows with these numbers."""
        self._owing[queue] = None
        self._journal.request_checkpoint()
        table = self._journal.origins
        for origin, first, count in origins:
            table.add(origin, first, count)

    def pending_ranges(self) -> list[OriginRange]:
        """The numbers that the table of origins has and no durable record has."""
        runs = {passing.low: passing for passing in self._under_way.values()}
        return [part for passing in runs.values() for part in passing.pending_ranges()]

    def checkpoint_ordered(self) -> None:
        """A checkpoint is on its way to the disk, without the pending ranges."""
        self._saving = {**self._saving, **self._owing}
        self._owing = {}
        self._saving_below = min(self._under_way, default=self._journal.assigned_end)

    def checkpoint_durable(self, out: list[Effect]) -> None:
        """The checkpoint is durable: the queues need not retain what it has."""
        below = self._saving_below
        out.extend(SendWithinBroker(Remembered(self._alias, each, below)) for each in self._saving)
        self._saving = {}
