"""Rows that an alias queue leaves to queues of its own broker.

Between two brokers whose a row is takes a transaction (``alias/decisions``), because either
of them may be away when the other has to know.  Two queues of one broker have one store and no link
between them: they crash together, and every order is answered.  So:

1. While everybody who can take rows is a queue of this broker, rows are handed over: the queue
   stores them as its own, with the numbers that their producer gave them, and says so; then the
   producer gets its receipt.  The entry in the queue's journal is the decision whose the rows are:
   there is no note beside it, and nothing is ever in doubt.
2. What a queue refuses, because it or its disk is full, is stored in the alias queue, under new
   positions, and forwarded from there to whoever can take it.
3. After a restart the queues' journals tell which numbers of which producers were handed over, so
   that a repeat is known.  Alias queues begin when the queues of their broker have been read, and a
   queue keeps the entries until the alias queue's own save has their numbers (``Remembered``).
4. Rows stay in order: nothing is handed over while earlier rows are in the alias queue.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Send
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.alias.forwarding import Forwarding
from penstock.services.queues.alias.pass_through import Passage, Piece
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.messages import HandedOver, HandOver, Remembered
from penstock.services.queues.queue.senders import HANDOVERS


class Handover:
    """What one alias queue hands over."""

    def __init__(
        self, alias: str, rows: AliasRows, passage: Passage, forwarding: Forwarding
    ) -> None:
        """Nothing is under way."""
        self._alias = alias
        self._rows = rows
        self._journal = rows.journal
        self._passage = passage
        self._forwarding = forwarding
        self._under_way: dict[int, Piece] = {}
        self._owing: dict[str, None] = {}
        """Queues that keep entries for us which our last save does not have."""
        self._saving: dict[str, None] = {}
        self._saving_below = 0

    def step(self, takers: list[str], now: Instant, out: list[Effect]) -> None:
        """Hand over what has come, to these destinations, unless earlier rows are in the way."""
        if self._rows.entries.rows:
            return
        for piece in self._passage.leave():
            self._forwarding.loop.begin(now, out)
            self._hand_over(piece, takers, out)

    def _hand_over(self, piece: Piece, takers: list[str], out: list[Effect]) -> None:
        rows, frame = piece.rows, piece.rows.frame
        low = frame.low
        for address, count in self._forwarding.balancer.allot(len(frame), takers).items():
            if count:
                self._under_way[low] = piece
                message = HandOver(
                    self._alias,
                    self._forwarding.destinations[address].queue,
                    low,
                    frame.slice(low, low + count).batch,
                    rows.priority,
                    rows.expires_at,
                    rows.origin,
                    rows.first_sequence + low - frame.low,
                )
                out.append(Send(HANDOVERS, message))
                low += count

    def answered(self, message: HandedOver, address: str, now: Instant, out: list[Effect]) -> None:
        """A queue has rows, or refused them."""
        piece = self._under_way.pop(message.low)
        low, high = message.low, message.low + message.count
        if message.uncertain:
            # Stored here or elsewhere they might be there twice after a restart.
            self._passage.doubted(piece, low, high, message.failure)
        elif message.failure:
            self._forwarding.pause(address, message.failure, now)
            self._passage.store_again(piece, low, high, out)
        else:
            self._owing[message.queue] = None
            self._journal.has_news()
            self._passage.passed_messages += message.count
            # What is refused is counted when it is stored.
            self._forwarding.balancer.produced(message.count)
            self._forwarding.has_taken(address, message.count, now)
        if piece.done(low, high):
            self._passage.left(piece)

    # -- what a restart must know -----------------------------------------------------------

    def found(self, queue: str, origins: Iterable[OriginRange]) -> None:
        """A queue's journal says that it was given these."""
        self._owing[queue] = None
        self._journal.has_news()
        for origin, first, count in origins:
            self._journal.origins.add(origin, first, count)

    def pending_ranges(self) -> list[OriginRange]:
        """The numbers that the table of origins has and nothing durable says."""
        pieces = {piece.rows.frame.low: piece for piece in self._under_way.values()}
        return [part for piece in pieces.values() for part in piece.pending_ranges()]

    def save_ordered(self) -> None:
        """The table of origins is on its way to the disk, without what is pending."""
        self._saving = {**self._saving, **self._owing}
        self._owing = {}
        self._saving_below = min(self._under_way, default=self._journal.assigned_end)

    def saved(self, out: list[Effect]) -> None:
        """It is there: the queues need not keep what it says."""
        below = self._saving_below
        out.extend(Send(HANDOVERS, Remembered(self._alias, each, below)) for each in self._saving)
        self._saving = {}
