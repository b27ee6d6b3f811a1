"""The alias queue's half of the forwarding transaction: decides which destination owns each row.

1. The first destination that reports a row as stored gets it.  Another one that has stored it as
   well, because it was forwarded twice, is told that the row went elsewhere; but only when the note
   is durable, since after a crash before that the row can still become its own.
2. A destination is told that it owns a row when the note of the decision is durable
   (``alias/decisions``); the row has left the alias queue then.
3. A decision is remembered until the destination has confirmed it: after a crash it may have to ask
   again.  While a destination is unreachable nothing new is decided for it, so no more is
   remembered than was in flight.

``queue/forwarded`` is the destination's half.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, PersistFailed
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.services.queues.alias.decisions import DISCARDED, DecisionNotes
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.pass_through import PassThrough
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import Decision, DecisionEntry, Resolved, Stored
from penstock.services.queues.routing import SendToBroker


class ForwardingTransaction:
    """The decisions of one alias queue, from a destination's report to its confirmation."""

    def __init__(
        self,
        alias: str,
        context: QueueContext,
        journal: Journal,
        entries: Entries,
        rows: AliasRows,
        destinations: Destinations,
        pass_through: PassThrough,
        forwarded: WindowRateMeter,
    ) -> None:
        """``forwarded`` counts the rows that have an owner."""
        self._broker = context.broker
        self._alias = alias
        self._repeat_ns = context.parameters.repeat_ns
        self._journal = journal
        self._entries = entries
        self._rows = rows
        self._undecided = rows.undecided
        self._destinations = destinations
        self._pass_through = pass_through
        self._forwarded = forwarded
        self._notes = DecisionNotes(journal, context.parameters.store_retry_ns)
        for address, intervals in journal.recovered_extra.items():
            destinations.known_or_retired(address).decided = IntervalSet(intervals)

    # -- recovery ---------------------------------------------------------------------------

    def recover(self, decision: DecisionEntry) -> None:
        """Take a decision that a restart has read and that no checkpoint has."""
        if decision.destination != DISCARDED:
            decided = self._destinations.known_or_retired(decision.destination).decided
            for low, high in decision.intervals:
                decided.add(low, high)
        origins = self._journal.origins
        for origin, first, count in decision.origins:
            origins.add(origin, first, count)

    # -- deciding ---------------------------------------------------------------------------

    def stored(self, message: Stored, now: Instant, out: list[Effect]) -> None:
        """A destination has stored rows and asks for the decision."""
        destination = self._destinations.find(message.source, message.queue)
        if destination is None:
            stranger = AliasDestination(f"{message.queue}@{message.source}")
            self._announce(stranger, (), message.intervals, out)
            return
        if message.resolved:
            self._confirmed(destination, message.resolved, now)
        again: list[Interval] = []
        elsewhere: list[Interval] = []
        for low, high in message.intervals:
            destination.has_stored(low, high, now)
            for part_low, part_high in self._undecided.within(low, high):
                self._decide(destination.address, part_low, part_high)
            known = destination.decided.within(low, high)
            again += known
            # A decision whose note is not durable is answered when the destination asks again.
            not_elsewhere = IntervalSet([*known, *self._notes.unwritten(low, high)])
            elsewhere += not_elsewhere.gaps(low, high)
        self._announce(destination, again, elsewhere, out)
        self._destinations.forget_if_done(destination)

    def resolved_by(self, message: Resolved, now: Instant) -> None:
        """A destination confirms that it knows decisions."""
        destination = self._destinations.find(message.source, message.queue)
        if destination is not None:
            self._confirmed(destination, message.intervals, now)
            self._destinations.forget_if_done(destination)

    def _confirmed(
        self, destination: AliasDestination, known: Iterable[Interval], now: Instant
    ) -> None:
        for low, high in known:
            destination.confirm(low, high)
        destination.schedule_repeat(now, self._repeat_ns)

    def discard(self, low: int, high: int) -> None:
        """Discard undecided rows: no destination gets them."""
        self._decide(DISCARDED, low, high)

    def discard_all(self, parts: Iterable[Interval]) -> None:
        for low, high in parts:
            self._decide(DISCARDED, low, high)

    def _decide(self, address: str, low: int, high: int) -> None:
        """Give undecided rows to a destination."""
        self._release(low, high)
        if address != DISCARDED:
            self._destinations[address].deciding.add(low, high)
        self._notes.decide(address, low, high)

    def _release(self, low: int, high: int) -> None:
        """Remove rows from the undecided set and from every in-flight set."""
        self._rows.decide(low, high)
        for each in self._destinations:
            before = each.in_flight.within(low, high)
            if before:
                weight = sum(self._rows.weight_bytes(*part) for part in before)
                each.in_flight_bytes = max(0, each.in_flight_bytes - weight)
                each.take_back(low, high)

    def store_passing(self, now: Instant, out: list[Effect]) -> None:
        """Store the undecided rows that pass through, under new positions."""
        parts = self._pass_through.undecided()
        for low, high in parts:
            self._release(low, high)
        self._pass_through.store(parts, now, out)
        for low, high in parts:
            self._entries.settle(low, high)

    # -- notes ------------------------------------------------------------------------------

    def flush(self, out: list[Effect]) -> None:
        """Write what was decided, one note for each destination at a time."""
        for address, intervals in self._notes.due():
            origins = self._pass_through.origins_of(intervals)
            self._notes.write(address, intervals, origins, out)

    def note_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Take the answer of the store to a decision, if the order was one."""
        note = self._notes.resolved(token)
        if note is None:
            return
        if failure:
            self._note_refused(*note, failure=failure, now=now, out=out)
        else:
            self._note_durable(*note, now=now, out=out)

    def _note_durable(
        self, address: str, intervals: list[Interval], *, now: Instant, out: list[Effect]
    ) -> None:
        """Rows have left the alias queue: tell the destination that owns them."""
        for low, high in intervals:
            self._pass_through.owned(low, high)
            self._entries.settle(low, high)
        if address == DISCARDED:
            return
        destination = self._destinations[address]
        for low, high in intervals:
            destination.decision_durable(low, high)
            self._forwarded.add(high - low, now)
        destination.schedule_repeat(now, self._repeat_ns)
        self._announce(destination, intervals, (), out)

    def _note_refused(
        self,
        address: str,
        intervals: list[Interval],
        *,
        failure: PersistFailed,
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Stored rows wait for another note; rows that pass through are withdrawn."""
        kept = IntervalSet(intervals)
        withdrawn: list[Interval] = []
        for low, high in intervals:
            withdrawn += self._pass_through.refused(low, high, failure)
        for low, high in withdrawn:
            kept.remove(low, high)
            self._entries.settle(low, high)
        self._notes.write_again(address, list(kept), now)
        if address != DISCARDED:
            destination = self._destinations[address]
            for low, high in withdrawn:
                destination.deciding.remove(low, high)
            self._announce(destination, (), withdrawn, out)

    # -- telling destinations ---------------------------------------------------------------

    def announce_all(self, now: Instant, out: list[Effect]) -> None:
        """Repeat to every reachable destination the decisions that it has not confirmed."""
        for each in self._destinations:
            if each.reachable:
                self.announce_again(each, now, out)

    def announce_again(
        self, destination: AliasDestination, now: Instant, out: list[Effect]
    ) -> None:
        """Repeat to a destination the decisions that it has not confirmed, until it does."""
        destination.schedule_repeat(now, self._repeat_ns)
        self._announce(destination, destination.decided, (), out)

    def _announce(
        self,
        destination: AliasDestination,
        committed: Iterable[Interval],
        withdrawn: Iterable[Interval],
        out: list[Effect],
    ) -> None:
        """Tell a destination which rows it owns, and which it does not."""
        decision = Decision(
            self._broker,
            destination.broker,
            self._alias,
            destination.queue,
            tuple(committed),
            tuple(withdrawn),
        )
        if decision.committed or decision.withdrawn:
            out.append(SendToBroker(decision))

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant) -> None:
        """Allow a refused note to be written again."""
        self._notes.deadline(now)

    @property
    def retry_at(self) -> Instant | None:
        """When that is."""
        return self._notes.retry_at

    def discarding(self) -> list[Interval]:
        """The rows that are discarded and whose note is not durable."""
        return self._notes.discarding()
