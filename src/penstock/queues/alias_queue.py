"""An alias queue: write-only, durable, on the producer's side; it forwards to queues elsewhere.

1. What is sent is stored here first and stays, visible, until one destination has it (Section II).
2. Rows are shared out between the destinations that can take them, as the balancer says.
3. A forwarded row that is not confirmed in time, because the destination cannot be reached, refuses
   or is silent, waits again and may go to another destination.  The forwarding transaction keeps
   it from being delivered twice: only the alias queue decides whose a row is
   (penstock.queues.decisions), and a destination hands nothing out before it knows.
4. A destination without consumers gets nothing while another has some; one that was away is asked
   how it is before it gets anything.
5. Destinations can be added and retired while the queue runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, InvariantBroken, LinkName, LogRead, Priority, Send
from penstock.core.tokens import Tokens
from penstock.queues.alias_rows import AliasRows
from penstock.queues.balancer import Balancer
from penstock.queues.decisions import NOBODY, Decisions
from penstock.queues.destination import Destination
from penstock.queues.entrance import Entrance
from penstock.queues.entries import Entry
from penstock.queues.explanation import explain
from penstock.queues.intake import Intake
from penstock.queues.messages import (
    Forward,
    ForwardRefused,
    MonitorReport,
    Resolved,
    RowsEntry,
    SendToQueue,
    Stored,
)
from penstock.queues.monitor_loop import MonitorLoop
from penstock.queues.parameters import AliasConfig, QueueParameters
from penstock.queues.rate_meter import RateMeter
from penstock.queues.replies import answer_client, client_reply
from penstock.queues.senders import ROUTE, ClientSender, Sender

FORWARD_ROWS = 4096
"""Rows of one forwarded piece at most, so that control messages are not kept waiting behind it."""


class AliasQueue:
    """The machine of one alias queue."""

    def __init__(
        self,
        broker: str,
        config: AliasConfig,
        parameters: QueueParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[int, int, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self.name = config.name
        self.config = config
        self._broker = broker
        self._parameters = parameters
        self.log = f"alias/{config.name}"
        self.rows = AliasRows(self.log, parameters, tokens, saved=saved, logs=logs, now=now)
        self._journal = self.rows.journal
        self._intake: Intake[Sender] = Intake(self._journal)
        self._decisions = Decisions(broker, config.name, self._journal, parameters.store_retry_ns)
        self.balancer = Balancer(config, parameters, now)
        self._destinations = {each: Destination(each) for each in config.destinations}
        for address, intervals in self._journal.recovered_extra.items():
            self._destination_for(address).confirmed = IntervalSet(intervals)
        self.entrance = Entrance(
            broker,
            config,
            parameters,
            self._journal,
            self.rows.entries,
            self._intake,
            give_answers=self._give_answers,
            explain=self.explain,
        )
        self._body_token: int | None = None
        self._loop = MonitorLoop(
            broker, config.name, self.balancer, self._destinations, parameters.repeat_ns
        )
        self.received = RateMeter(now)
        self.forwarded = RateMeter(now)

    def start(self, now: Instant, out: list[Effect]) -> None:
        """Read the journal."""
        self._journal.start(out)

    def _destination_for(self, address: str) -> Destination:
        """A destination; one that is no longer configured is kept only to end what was begun."""
        found = self._destinations.get(address)
        if found is None:
            found = self._destinations[address] = Destination(address, retired=True)
        return found

    def _by_queue(self, broker: str, queue: str) -> Destination | None:
        return self._destinations.get(f"{queue}@{broker}")

    # -- sending ----------------------------------------------------------------------------

    def send(
        self, sender: ClientSender, message: SendToQueue, now: Instant, out: list[Effect]
    ) -> None:
        """A client's rows."""
        self.entrance.send(sender, message, now, out)

    def _give_answers(self, now: Instant, out: list[Effect]) -> None:
        for answer in self._intake.answers():
            assert isinstance(answer.sender, ClientSender)
            reply = client_reply(answer.sender, answer)
            answer_client(answer.sender, reply, self._broker, out)

    # -- forwarding -------------------------------------------------------------------------

    def _forward(self, now: Instant, out: list[Effect]) -> None:
        """Share out what waits between those that can take it."""
        takers = self._takers(now)
        window = self._parameters.forward_window_bytes
        names = list(takers)
        while takers and (first := self.rows.waiting.first()) is not None:
            if any(each.in_flight_bytes >= window for each in takers.values()):
                return
            entry = self.rows.entries.find(first[0])
            assert entry is not None, f"row {first[0]} waits and does not exist"
            low, high = first[0], min(first[1], entry.high, first[0] + FORWARD_ROWS)
            if entry.expires_at and entry.expires_at <= now:
                self._decide(NOBODY, low, high)
                continue
            if entry.frame is None:
                if self._body_token is None:
                    end = self._journal.assigned_end
                    self._body_token = self._journal.read(entry.low, end, out)
                return
            for name, count in self.balancer.allot(high - low, names).items():
                if count:
                    self._send_piece(takers[name], entry, low, low + count, now, out)
                    low += count

    def _takers(self, now: Instant) -> dict[str, Destination]:
        alone = self.has_one_destination
        return {
            address: each
            for address, each in self._destinations.items()
            if each.can_take(now, alone=alone)
        }

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
        self.rows.waiting.remove(entry.priority, low, high)
        destination.sent(low, high, self.rows.weight_bytes(low, high), now)
        message = Forward(
            self._broker,
            destination.broker,
            self.name,
            destination.queue,
            self.rows.floor,
            frame,
            entry.priority,
            entry.expires_at,
        )
        out.append(Send(ROUTE, message, Priority.DATA, self.log))

    # -- what destinations say --------------------------------------------------------------

    def stored(self, message: Stored, now: Instant, out: list[Effect]) -> None:
        """A destination holds rows and asks whose they are."""
        if not self._journal.ready:
            return
        destination = self._by_queue(message.source, message.queue)
        if destination is None:
            stranger = Destination(f"{message.queue}@{message.source}")
            self._decisions.announce(stranger, (), message.intervals, out)
            return
        destination.progress_at = now
        again: list[Interval] = []
        elsewhere: list[Interval] = []
        for low, high in message.intervals:
            for part_low, part_high in self.rows.undecided.within(low, high):
                self._decide(destination.address, part_low, part_high)
            own = IntervalSet(destination.deciding.within(low, high))
            known = destination.confirmed.within(low, high)
            again += known
            for part in known:
                own.add(*part)
            elsewhere += own.gaps(low, high)
        self._decisions.announce(destination, again, elsewhere, out)
        self._step(now, out)

    def _decide(self, address: str, low: int, high: int) -> None:
        """Rows that nobody has yet are this destination's."""
        self.rows.decide(low, high)
        for each in self._destinations.values():
            before = each.in_flight.within(low, high)
            if before:
                weight = sum(self.rows.weight_bytes(*part) for part in before)
                each.in_flight_bytes = max(0, each.in_flight_bytes - weight)
                each.take_back(low, high)
        if address != NOBODY:
            self._destinations[address].deciding.add(low, high)
        self._decisions.decide(address, low, high)

    def refused(self, message: ForwardRefused, now: Instant, out: list[Effect]) -> None:
        """A destination cannot store rows: they go elsewhere, and so does what follows."""
        destination = self._by_queue(message.source, message.queue)
        if destination is None:
            return
        destination.problem = message.reason
        destination.paused_until = now + self._parameters.refused_pause_ns
        for low, high in message.intervals:
            self.rows.wait_again(destination.take_back(low, high))
        self._step(now, out)

    def resolved_by(self, message: Resolved, now: Instant) -> None:
        """A destination knows of these decisions, durably."""
        destination = self._by_queue(message.source, message.queue)
        if destination is None:
            return
        for low, high in message.intervals:
            destination.confirmed.remove(low, high)
        pending = len(destination.confirmed)
        destination.repeat_at = now + self._parameters.repeat_ns if pending else None
        if destination.retired and destination.is_done:
            del self._destinations[destination.address]

    # -- the overlay ------------------------------------------------------------------------

    def routes_changed(
        self, next_hops: Mapping[str, LinkName], now: Instant, out: list[Effect]
    ) -> None:
        """Some destinations can be reached now, or no longer."""
        for destination in self._destinations.values():
            there = destination.broker == self._broker or destination.broker in next_hops
            if there == destination.reachable:
                continue
            destination.reachable = there
            destination.consumers = None
            if there:
                destination.probed_at = now
                self._loop.probe(destination, out)
                self._decisions.announce(destination, destination.confirmed, (), out)
            else:
                self.balancer.forget(destination.address)
                self.rows.wait_again(destination.take_back_all())
        self._step(now, out)

    # -- the control loop (Algorithm 1) -----------------------------------------------------

    def report(self, message: MonitorReport, now: Instant, out: list[Effect]) -> None:
        """A destination's answer, or its word that consumers came or went."""
        destination = self._by_queue(message.source, message.queue)
        if destination is None:
            return
        destination.consumers = message.consumers
        destination.problem = message.problem
        if message.problem:
            destination.consumers = 0
            destination.paused_until = now + self._parameters.refused_pause_ns
        else:
            self._loop.report(destination, message, now, out)
        self._step(now, out)

    # -- operators --------------------------------------------------------------------------

    def add_destination(
        self, address: str, next_hops: Mapping[str, LinkName], now: Instant, out: list[Effect]
    ) -> None:
        """A destination more, or a retired one again."""
        destination = self._destinations.setdefault(address, Destination(address))
        destination.retired = False
        self.routes_changed(next_hops, now, out)

    def retire_destination(self, address: str, now: Instant, out: list[Effect]) -> bool:
        """A destination gets nothing more; what it has not stored goes elsewhere."""
        destination = self._destinations.get(address)
        if destination is None:
            return False
        destination.retired = True
        self.rows.wait_again(destination.take_back_all())
        if destination.is_done:
            del self._destinations[address]
        self._step(now, out)
        return True

    def destinations(self) -> list[str]:
        """The addresses in use."""
        return [each.address for each in self._destinations.values() if not each.retired]

    def purge(self, now: Instant, out: list[Effect]) -> int:
        """Discard what waits here (not what is under way); how many messages."""
        count = self.rows.waiting.count
        for _, level in list(self.rows.waiting.levels()):
            for low, high in list(level):
                self._decide(NOBODY, low, high)
        self._step(now, out)
        return count

    # -- the store's word -------------------------------------------------------------------

    def resolved(self, token: int, failure: str, now: Instant, out: list[Effect]) -> None:
        """Something is durable, or was refused."""
        if self._journal.resolved(token, failure):
            self._journal.trim(self.rows.entries.lowest, out)
            return
        stored = self._intake.resolved(token, failure)
        if stored is not None:
            self._arrived(stored, now, out)
        decided = self._decisions.resolved(token, failure, now)
        if decided is not None:
            self._decided(*decided, now=now, out=out)
        self._give_answers(now, out)
        self._step(now, out)

    def _arrived(self, stored: RowsEntry, now: Instant, out: list[Effect]) -> None:
        self._loop.begin(now, out)
        count = self.rows.arrived(stored).live
        self.balancer.produced(count)
        self.received.add(count, now)

    def _decided(
        self, address: str, intervals: list[Interval], *, now: Instant, out: list[Effect]
    ) -> None:
        """A decision is durable: the rows are not ours any more."""
        for low, high in intervals:
            self.rows.entries.settle(low, high)
        if address == NOBODY:
            return
        destination = self._destinations[address]
        for low, high in intervals:
            destination.deciding.remove(low, high)
            destination.confirmed.add(low, high)
            self.forwarded.add(high - low, now)
        destination.repeat_at = now + self._parameters.repeat_ns
        self._decisions.announce(destination, intervals, (), out)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """The store answered a read."""
        if self._journal.is_recovery(fact.token):
            self._recover(fact, now, out)
        elif fact.token == self._body_token:
            self._body_token = None
            for entry in fact.frames:
                if isinstance(entry, RowsEntry):
                    self.rows.entries.load(entry.frame)
            self._step(now, out)

    def _recover(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        for decision in self.rows.recovered(fact, out):
            if decision.destination != NOBODY:
                confirmed = self._destination_for(decision.destination).confirmed
                for low, high in decision.intervals:
                    confirmed.add(low, high)
        if not self._journal.ready:
            return
        self.entrance.journal_read(now, out)
        for destination in self._destinations.values():
            if destination.reachable:
                self._decisions.announce(destination, destination.confirmed, (), out)
        self._step(now, out)

    # -- one step, and time -----------------------------------------------------------------

    def _step(self, now: Instant, out: list[Effect]) -> None:
        if self._journal.ready:
            self._forward(now, out)
            self._decisions.flush(out)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Monitor, repeat, give up on silent destinations, save and trim."""
        self._loop.deadline(now, out)
        for destination in list(self._destinations.values()):
            self._repeat(destination, now, out)
        self._decisions.deadline(now)
        save_at = self._journal.checkpoint_at()
        if save_at is not None and now >= save_at:
            confirmed = {
                each.address: list(each.confirmed)
                for each in self._destinations.values()
                if len(each.confirmed)
            }
            self._journal.checkpoint(self._intake.pending_ranges(), confirmed, now, out)
            self._journal.trim(self.rows.entries.lowest, out)
        self._step(now, out)

    def _repeat(self, destination: Destination, now: Instant, out: list[Effect]) -> None:
        late = destination.progress_at + self._parameters.forward_timeout_ns
        if len(destination.in_flight) and now >= late:
            self.rows.wait_again(destination.take_back_all())
        if destination.repeat_at is not None and now >= destination.repeat_at:
            destination.repeat_at = now + self._parameters.repeat_ns
            self._decisions.announce(destination, destination.confirmed, (), out)
        probe_at = self._probe_at(destination)
        if probe_at is not None and now >= probe_at:
            destination.paused_until = 0
            destination.probed_at = now
            self._loop.probe(destination, out)

    def _probe_at(self, destination: Destination) -> Instant | None:
        """When to ask again a destination that gets nothing: its last word may have been lost."""
        if not destination.reachable or destination.retired:
            return None
        if destination.paused_until:
            return destination.paused_until
        if destination.consumers is None:
            return destination.probed_at + self._parameters.repeat_ns
        if not destination.consumers and self.rows.waiting.count:
            return destination.probed_at + self._parameters.forward_timeout_ns
        return None

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        deadlines = [
            self._loop.next_deadline(),
            self._decisions.retry_at,
            self._journal.checkpoint_at(),
        ]
        for each in self._destinations.values():
            if len(each.in_flight):
                deadlines.append(each.progress_at + self._parameters.forward_timeout_ns)
            deadlines.append(each.repeat_at if each.reachable else None)
            deadlines.append(self._probe_at(each))
        return earliest(*deadlines)

    # -- looking in -------------------------------------------------------------------------

    def all_destinations(self) -> list[Destination]:
        """Those in use, and retired ones with which something is not finished."""
        return list(self._destinations.values())

    @property
    def has_one_destination(self) -> bool:
        """Whether there is nothing to choose."""
        return len(self.destinations()) == 1

    def explain(self, now: Instant) -> str:
        """What holds messages back, in a sentence."""
        alone = self.has_one_destination
        return explain(self._destinations.values(), self.balancer, now, alone=alone)

    def check_invariants(self) -> None:
        """Every undecided row waits or is under way to exactly one destination."""
        places = IntervalSet()
        span = self.rows.waiting.count
        for _, level in self.rows.waiting.levels():
            for low, high in level:
                places.add(low, high)
        for each in self._destinations.values():
            span += each.in_flight.span
            for low, high in each.in_flight:
                places.add(low, high)
        if places != self.rows.undecided or span != self.rows.undecided.span:
            raise InvariantBroken(
                f"alias queue {self.name}: undecided {self.rows.undecided}, found {places} ({span})"
            )
