"""The forwarding half of an alias queue: rows go out to destinations, and their words come back.

1. Rows are shared out between the destinations that can take them, as the balancer says.
2. A forwarded row that is not confirmed in time, because the destination cannot be reached, refuses
   or is silent, waits again and may go to another destination.  The forwarding transaction keeps
   it from being delivered twice: only the alias queue decides whose a row is
   (penstock.services.queues.alias.decisions), and a destination hands nothing out before it knows.
3. A destination without consumers gets nothing while another has some; one that was away is asked
   how it is before it gets anything.
4. Destinations can be added and retired while the queue runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, LinkName, PersistFailed, Priority, Send
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.services.queues.alias.decisions import NOBODY, Decisions
from penstock.services.queues.alias.destination import Destination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.monitor_loop import MonitorLoop
from penstock.services.queues.alias.pass_through import Passage
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.laws.balancer import Balancer
from penstock.services.queues.log.entries import Entry
from penstock.services.queues.messages import (
    DecisionEntry,
    Forward,
    ForwardRefused,
    MonitorReport,
    Resolved,
    Stored,
)
from penstock.services.queues.parameters import AliasConfig, QueueParameters
from penstock.services.queues.queue.senders import ROUTE

FORWARD_ROWS: Final = 4096
"""Rows of one forwarded piece at most, so that control messages are not kept waiting behind it."""


class Forwarding:
    """The destinations of one alias queue, and everything that is said between them and it."""

    def __init__(
        self,
        broker: str,
        config: AliasConfig,
        parameters: QueueParameters,
        rows: AliasRows,
        passage: Passage,
        now: Instant,
    ) -> None:
        """Nothing is forwarded, and nothing is known of the destinations."""
        self._broker = broker
        self._alias = config.name
        self._pass_through_ns = config.pass_through_ns
        self._parameters = parameters
        self._rows = rows
        self._passage = passage
        self.balancer = Balancer(config, parameters, now)
        self.destinations = Destinations(config.destinations)
        self._decisions = Decisions(
            broker, config.name, rows.journal, passage.origins_of, parameters.store_retry_ns
        )
        self.loop = MonitorLoop(
            broker, config.name, self.balancer, self.destinations, parameters.repeat_ns
        )
        self.body_token: int | None = None
        self.forwarded = WindowRateMeter(now)
        for address, intervals in rows.journal.recovered_extra.items():
            self.destinations.known_or_retired(address).confirmed = IntervalSet(intervals)

    # -- sharing out ------------------------------------------------------------------------

    def step(
        self, now: Instant, out: list[Effect], takers: dict[str, Destination] | None = None
    ) -> None:
        """Forward what can be, and write down what was decided.

        ``takers`` are those that can take rows, if the caller has asked already.
        """
        if self._rows.journal.ready:
            self._forward(self.destinations.takers(now) if takers is None else takers, now, out)
            self._decisions.flush(out)

    def _forward(self, takers: dict[str, Destination], now: Instant, out: list[Effect]) -> None:
        """Share out what waits between those that can take it."""
        if not takers and len(self._passage):
            self.store_what_passes(now, out)
        window = self._parameters.forward_window_bytes
        names = list(takers)
        while takers and (first := self._rows.waiting.first()) is not None:
            if any(each.in_flight_bytes >= window for each in takers.values()):
                return
            entry = self._rows.entries.find(first[0])
            assert entry is not None, f"row {first[0]} waits and does not exist"
            low, high = first[0], min(first[1], entry.high, first[0] + FORWARD_ROWS)
            if entry.expires_at and entry.expires_at <= now:
                self._decide(NOBODY, low, high)
                continue
            if entry.frame is None:
                if self.body_token is None:
                    journal = self._rows.journal
                    self.body_token = journal.read(entry.low, journal.assigned_end, out)
                return
            for name, count in self.balancer.allot(high - low, names).items():
                if count:
                    self._send_piece(takers[name], entry, low, low + count, now, out)
                    low += count

    def are_near(self, takers: dict[str, Destination]) -> bool:
        """Whether those who can take rows are near enough for them to pass through, or here."""
        limit_ns = self._pass_through_ns
        return bool(limit_ns and takers) and all(
            each.broker == self._broker or each.distance.is_within(limit_ns)
            for each in takers.values()
        )

    def are_here(self, takers: dict[str, Destination]) -> bool:
        """Whether there are some who can take rows, and all of them are queues of this broker."""
        return bool(takers) and all(each.broker == self._broker for each in takers.values())

    def has_taken(self, address: str, count: int, now: Instant) -> None:
        """A queue of this broker has rows that were handed over to it."""
        self.destinations[address].forwarded_messages += count
        self.forwarded.add(count, now)

    def pause(self, address: str, problem: str, now: Instant) -> None:
        """A destination refused rows: what follows goes elsewhere."""
        destination = self.destinations[address]
        destination.problem = problem
        destination.paused_until = now + self._parameters.refused_pause_ns

    def _send_piece(
        self,
        destination: Destination,
        entry: Entry,
        low: int,
        high: int,
        now: Instant,
        out: list[Effect],
    ) -> None:
        assert entry.frame is not None
        frame = entry.frame.slice(low, high)
        self._rows.waiting.remove(entry.priority, low, high)
        whole = low == entry.low and high == entry.high
        weight = entry.weight_bytes if whole else self._rows.weight_bytes(low, high)
        destination.sent(low, high, weight, now)
        message = Forward(
            self._broker,
            destination.broker,
            self._alias,
            destination.queue,
            self._rows.floor,
            frame,
            entry.priority,
            entry.expires_at,
            destination.unsettled_rows,
        )
        out.append(Send(ROUTE, message, Priority.DATA, self._rows.journal.log))

    def store_what_passes(self, now: Instant, out: list[Effect]) -> None:
        """What passes through and has no owner is stored here, under new positions."""
        parts = self._passage.undecided()
        for low, high in parts:
            self._let_go(low, high)
        self._passage.store(parts, now, out)
        for low, high in parts:
            self._rows.entries.settle(low, high)

    def _let_go(self, low: int, high: int) -> None:
        """Undecided rows are so no longer, wherever they were."""
        self._rows.decide(low, high)
        for each in self.destinations:
            before = each.in_flight.within(low, high)
            if before:
                weight = sum(self._rows.weight_bytes(*part) for part in before)
                each.in_flight_bytes = max(0, each.in_flight_bytes - weight)
                each.take_back(low, high)

    def _decide(self, address: str, low: int, high: int) -> None:
        """Rows that nobody has yet are this destination's."""
        self._let_go(low, high)
        if address != NOBODY:
            self.destinations[address].deciding.add(low, high)
        self._decisions.decide(address, low, high)

    # -- what destinations say --------------------------------------------------------------

    def stored(self, message: Stored, now: Instant, out: list[Effect]) -> None:
        """A destination holds rows and asks whose they are."""
        if not self._rows.journal.ready:
            return
        destination = self.destinations.find(message.source, message.queue)
        if destination is not None and message.resolved:
            self._knows(destination, message.resolved, now)
        if destination is None:
            stranger = Destination(f"{message.queue}@{message.source}")
            self._decisions.announce(stranger, (), message.intervals, out)
            return
        again: list[Interval] = []
        elsewhere: list[Interval] = []
        for low, high in message.intervals:
            destination.has_stored(low, high, now)
            for part_low, part_high in self._rows.undecided.within(low, high):
                self._decide(destination.address, part_low, part_high)
            known = destination.confirmed.within(low, high)
            again += known
            # What was decided and is not written down yet is answered when it asks again.
            not_elsewhere = IntervalSet([*known, *self._decisions.unwritten.within(low, high)])
            elsewhere += not_elsewhere.gaps(low, high)
        self._decisions.announce(destination, again, elsewhere, out)
        self.destinations.forget_if_done(destination)
        self.step(now, out)

    def refused(self, message: ForwardRefused, now: Instant, out: list[Effect]) -> None:
        """A destination cannot store rows: they go elsewhere, and so does what follows."""
        destination = self.destinations.find(message.source, message.queue)
        if destination is None:
            return
        self.pause(destination.address, message.reason, now)
        for low, high in message.intervals:
            self._rows.wait_again(destination.take_back(low, high))
        self.step(now, out)

    def resolved_by(self, message: Resolved, now: Instant) -> None:
        """A destination knows of these decisions, durably."""
        destination = self.destinations.find(message.source, message.queue)
        if destination is not None:
            self._knows(destination, message.intervals, now)
            self.destinations.forget_if_done(destination)

    def _knows(self, destination: Destination, known: Iterable[Interval], now: Instant) -> None:
        for low, high in known:
            destination.confirmed.remove(low, high)
        pending = len(destination.confirmed)
        destination.repeat_at = now + self._parameters.repeat_ns if pending else None

    def report(self, message: MonitorReport, now: Instant, out: list[Effect]) -> None:
        """A destination's answer, or its word that consumers came or went."""
        destination = self.destinations.find(message.source, message.queue)
        if destination is None:
            return
        destination.consumers = message.consumers
        destination.problem = message.problem
        if message.problem:
            destination.consumers = 0
            destination.paused_until = now + self._parameters.refused_pause_ns
        else:
            self.loop.report(destination, message, now, out)
        self.step(now, out)

    # -- decisions --------------------------------------------------------------------------

    def note_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """The store gave its word on a decision, if this is one."""
        noted = self._decisions.resolved(token)
        if noted is None:
            return
        if failure:
            self._note_refused(*noted, failure=failure, now=now, out=out)
        else:
            self._decided(*noted, now=now, out=out)

    def _decided(
        self, address: str, intervals: list[Interval], *, now: Instant, out: list[Effect]
    ) -> None:
        """A decision is durable: the rows are not ours any more."""
        for low, high in intervals:
            self._passage.owned(low, high)
            self._rows.entries.settle(low, high)
        if address == NOBODY:
            return
        destination = self.destinations[address]
        for low, high in intervals:
            destination.deciding.remove(low, high)
            destination.confirmed.add(low, high)
            self.forwarded.add(high - low, now)
        destination.repeat_at = now + self._parameters.repeat_ns
        self._decisions.announce(destination, intervals, (), out)

    def _note_refused(
        self,
        address: str,
        intervals: list[Interval],
        *,
        failure: PersistFailed,
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Stored rows wait for another note; those that pass through are withdrawn."""
        kept = IntervalSet(intervals)
        withdrawn: list[Interval] = []
        for low, high in intervals:
            withdrawn += self._passage.refused(low, high, failure)
        for low, high in withdrawn:
            kept.remove(low, high)
            self._rows.entries.settle(low, high)
        self._decisions.write_again(address, list(kept), now)
        if address != NOBODY:
            destination = self.destinations[address]
            for low, high in withdrawn:
                destination.deciding.remove(low, high)
            self._decisions.announce(destination, (), withdrawn, out)

    def recovered(self, decision: DecisionEntry) -> None:
        """A decision was found in the journal."""
        if decision.destination != NOBODY:
            confirmed = self.destinations.known_or_retired(decision.destination).confirmed
            for low, high in decision.intervals:
                confirmed.add(low, high)

    def announce_all(self, now: Instant, out: list[Effect]) -> None:
        """The journal was read: tell every destination what is its own."""
        for each in self.destinations:
            if each.reachable:
                self._announce_again(each, now, out)

    def _announce_again(self, destination: Destination, now: Instant, out: list[Effect]) -> None:
        """Tell a destination everything that it has not said it knows, until it does."""
        pending = len(destination.confirmed)
        destination.repeat_at = now + self._parameters.repeat_ns if pending else None
        self._decisions.announce(destination, destination.confirmed, (), out)

    # -- the overlay and operators ----------------------------------------------------------

    def routes_changed(
        self, next_hops: Mapping[str, LinkName], now: Instant, out: list[Effect]
    ) -> None:
        """Some destinations can be reached now, or no longer."""
        for destination in self.destinations:
            there = destination.broker == self._broker or destination.broker in next_hops
            if there == destination.reachable:
                continue
            if there:
                destination.reachable = True
                destination.probed_at = now
                self.loop.probe(destination, out)
                self._announce_again(destination, now, out)
            else:
                self.balancer.forget(destination.address)
                self._rows.wait_again(destination.lost())

    def retire(self, address: str) -> None:
        """A destination gets nothing more; what it has not stored goes elsewhere."""
        destination = self.destinations[address]
        destination.retired = True
        self._rows.wait_again(destination.take_back_all())
        self.destinations.forget_if_done(destination)

    def purge(self) -> int:
        """Discard what waits here (not what is under way); how many messages."""
        count = self._rows.waiting.count
        for _, level in list(self._rows.waiting.levels()):
            for low, high in list(level):
                self._decide(NOBODY, low, high)
        return count

    def lose(self, intervals: Iterable[Interval]) -> None:
        """Give up the rows that wait here and whose bodies the disk can no longer read."""
        for lost_low, lost_high in intervals:
            for entry in list(self._rows.entries.within(lost_low, lost_high)):
                if entry.frame is not None:
                    continue
                for low, high in self._rows.waiting.within(entry.priority, entry.low, entry.high):
                    self._decide(NOBODY, low, high)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Monitor, repeat, and give up on silent destinations."""
        self.loop.deadline(now, out)
        for destination in self.destinations:
            self._repeat(destination, now, out)
        self._decisions.deadline(now)
        if self._passage.is_overdue(now):
            self.store_what_passes(now, out)

    def _repeat(self, destination: Destination, now: Instant, out: list[Effect]) -> None:
        late = destination.progress_at + self._parameters.forward_timeout_ns
        if len(destination.in_flight) and now >= late:
            self._rows.wait_again(destination.take_back_all())
        if destination.repeat_at is not None and now >= destination.repeat_at:
            self._announce_again(destination, now, out)
        probe_at = destination.probe_at(self._parameters, self._rows.waiting.count)
        if probe_at is not None and now >= probe_at:
            destination.paused_until = 0
            destination.probed_at = now
            self.loop.probe(destination, out)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        parameters, waiting = self._parameters, self._rows.waiting.count
        first = earliest(
            self.loop.next_deadline(), self._decisions.retry_at, self._passage.overdue_at
        )
        for each in self.destinations:
            at = each.next_deadline(parameters, waiting)
            if at is not None and (first is None or at < first):
                first = at
        return first
