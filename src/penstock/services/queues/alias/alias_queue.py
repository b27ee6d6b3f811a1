"""An alias queue: write-only, durable, at the producer's broker; it forwards to other queues.

1. A row stays here, visible, until one destination owns it (Section II).  It is stored here first,
   unless its destination is near and takes it at once (``alias/pass_through``), or is a queue of
   the same broker (``alias/handover``).  The producer gets its receipt when the row is durable,
   wherever that is.
2. ``alias/forwarding`` sends rows to destinations, ``alias/transaction`` decides which of them owns
   a row, and ``alias/failover`` takes rows back from destinations that do not answer.
3. Destinations can be added and retired while the queue runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, InvariantBroken, PersistFailed
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.alias.destinations import Destinations, Takers
from penstock.services.queues.alias.failover import Failover
from penstock.services.queues.alias.forwarding import Forwarding
from penstock.services.queues.alias.handover import Handover
from penstock.services.queues.alias.monitor_loop import MonitorLoop
from penstock.services.queues.alias.pass_through import PassThrough
from penstock.services.queues.alias.row_life import RowState
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.alias.transaction import ForwardingTransaction
from penstock.services.queues.context import QueueContext
from penstock.services.queues.durable_queue import DurableQueue
from penstock.services.queues.laws.balancer import Balancer
from penstock.services.queues.laws.factory import balancing_law
from penstock.services.queues.log.append import AppendAnswer
from penstock.services.queues.messages import (
    DecisionEntry,
    ForwardRefused,
    HandedOver,
    LoadAnswer,
    LoadQuestion,
    MonitorReport,
    Resolved,
    RowsEntry,
    SendToQueue,
    Stored,
)
from penstock.services.queues.parameters import AliasConfig
from penstock.services.queues.queue.senders import ClientSender, Sender
from penstock.services.queues.routing import Routes, SendToBroker
from penstock.services.queues.why import explain


class AliasQueue(DurableQueue):
    """The machine of one alias queue."""

    def __init__(self, config: AliasConfig, context: QueueContext) -> None:
        super().__init__(config, f"alias/{config.name}", context)
        broker, parameters, now = context.broker, context.parameters, context.now
        self.config = config
        self.forwarded = WindowRateMeter(now)
        self.rows = AliasRows(self.journal, self.entries)
        self.waiting = self.rows.waiting
        self.destinations = Destinations(broker, config.destinations)
        self.balancer = Balancer(balancing_law(config), config.overhead, parameters, now)
        self._loop = MonitorLoop(
            broker, config.name, self.balancer, self.destinations, parameters.repeat_ns
        )
        self.pass_through = PassThrough(
            self.rows, self.journal, self.entries, self._appender, config, parameters
        )
        self._transaction = ForwardingTransaction(
            config.name,
            context,
            self.journal,
            self.entries,
            self.rows,
            self.destinations,
            self.pass_through,
            self.forwarded,
        )
        self._forwarding = Forwarding(
            broker,
            config.name,
            self.log,
            parameters.forward_window_bytes,
            self.rows,
            self._bodies,
            self.balancer,
            self._transaction,
        )
        self._failover = Failover(
            parameters,
            self.rows,
            self.destinations,
            self.balancer,
            self._loop,
            self._transaction,
        )
        self._handover = Handover(config.name, self.journal, self.entries, self.pass_through)
        self._recoveries[DecisionEntry] = self._recover_decision
        self._messages = {
            Stored: self._stored,
            Resolved: self._resolved_by,
            MonitorReport: self._report,
            LoadAnswer: self._load_answered,
            ForwardRefused: self._refused,
            HandedOver: self._handed_over,
        }

    # -- recovery ---------------------------------------------------------------------------

    def recover_handovers(self, queue: str, origins: list[OriginRange]) -> None:
        """Before the start: the journal of a queue of this broker says what it was given."""
        self._handover.recovered(queue, origins)

    def _recover_decision(self, decision: DecisionEntry) -> None:
        self.rows.recover_decision(decision)
        if self.journal.is_unsaved(decision):
            self._transaction.recover(decision)

    def _place_recovered(self) -> None:
        self.rows.place_recovered()

    def _resume(self, now: Instant, out: list[Effect]) -> None:
        self._transaction.announce_all(now, out)

    def _lose(self, lost: Iterable[Interval]) -> None:
        self._transaction.discard_all(self.rows.waiting_without_body(lost))

    # -- sending ----------------------------------------------------------------------------

    def send(
        self, sender: ClientSender, message: SendToQueue, now: Instant, out: list[Effect]
    ) -> None:
        """Admit a client's rows, and forward what can be forwarded."""
        takers = self.destinations.takers(now)
        near = self.destinations.are_near(takers, self.config.pass_through_ns)
        self.pass_through.open(now, near=near, out=out)
        super().send(sender, message, now, out)
        self.pass_through.close()
        self._step_with(takers, now, out)

    def _store(self, entry: RowsEntry, answer: AppendAnswer[Sender], out: list[Effect]) -> None:
        if not self.pass_through.offer(entry, answer):
            super()._store(entry, answer, out)

    def _arrived(self, rows: RowsEntry, now: Instant, out: list[Effect]) -> None:
        self._rows_arrived(rows, now, out, stored=True)

    def _rows_arrived(
        self, rows: RowsEntry, now: Instant, out: list[Effect], *, stored: bool
    ) -> None:
        self._loop.begin(now, out)
        count = self.rows.arrived(rows, stored=stored)
        self.balancer.produced(count)
        self.received.add(count, now)

    # -- forwarding -------------------------------------------------------------------------

    def _step(self, now: Instant, out: list[Effect]) -> None:
        self._step_with(self.destinations.takers(now), now, out)

    def _step_with(self, takers: Takers, now: Instant, out: list[Effect]) -> None:
        """Hand over or forward the rows that have arrived, and write what was decided."""
        if not self.journal.ready:
            return
        if self.destinations.are_local(takers):
            for passing in self._handover.ready():
                self._loop.begin(now, out)
                counts = self.balancer.allot(passing.high - passing.low, list(takers))
                queues = {takers[address].queue: count for address, count in counts.items()}
                self._handover.hand_over(passing, queues, out)
        else:
            for rows in self.pass_through.arrivals():
                self._rows_arrived(rows, now, out, stored=False)
        self._forward_to(takers, now, out)

    def _forward(self, now: Instant, out: list[Effect]) -> None:
        self._forward_to(self.destinations.takers(now), now, out)

    def _forward_to(self, takers: Takers, now: Instant, out: list[Effect]) -> None:
        """Forward waiting rows, and write what was decided."""
        if self.journal.ready:
            if not takers and len(self.pass_through):
                self._transaction.store_passing(now, out)
            self._forwarding.forward(takers, now, out)
            self._transaction.flush(out)

    # -- what destinations say --------------------------------------------------------------

    def _stored(self, message: Stored, now: Instant, out: list[Effect]) -> None:
        if self.journal.ready:
            self._transaction.stored(message, now, out)
            self._forward(now, out)

    def _resolved_by(self, message: Resolved, now: Instant, out: list[Effect]) -> None:
        self._transaction.resolved_by(message, now)

    def _refused(self, message: ForwardRefused, now: Instant, out: list[Effect]) -> None:
        self._failover.refused(message, now)
        self._forward(now, out)

    def _report(self, message: MonitorReport, now: Instant, out: list[Effect]) -> None:
        self._failover.report(message, now, out)
        self._forward(now, out)

    def _handed_over(self, message: HandedOver, now: Instant, out: list[Effect]) -> None:
        """A queue of this broker has stored rows, or refused them."""
        if not message.failure:
            # Refused rows are counted when they are stored here.
            self.balancer.produced(message.count)
            self.forwarded.add(message.count, now)
            self.received.add(message.count, now)
        elif not message.uncertain:
            self._failover.pause(f"{message.queue}@{self._broker}", message.failure, now)
        self._handover.answered(message, out)
        self._give_answers(now, out)
        self._step(now, out)

    # -- the overlay and operators ----------------------------------------------------------

    def routes_changed(self, routes: Routes, now: Instant, out: list[Effect]) -> None:
        """Some destinations can be reached now, or no longer."""
        self._failover.routes_changed(routes, now, out)
        self._step(now, out)

    def add_destination(
        self, address: str, routes: Routes, now: Instant, out: list[Effect]
    ) -> None:
        """Use another destination, or a retired one again."""
        self.destinations.add(address)
        self.routes_changed(routes, now, out)

    def retire_destination(self, address: str, now: Instant, out: list[Effect]) -> None:
        """Forward nothing more to a destination."""
        self._failover.retire(address)
        self._step(now, out)

    @property
    def addresses(self) -> list[str]:
        """The addresses of the destinations in use."""
        return self.destinations.addresses

    def purge(self, now: Instant, out: list[Effect]) -> int:
        """Discard the waiting rows, not those in flight; returns how many there were."""
        count = self.waiting.count
        waiting = [part for _, level in self.waiting.levels() for part in level]
        self._transaction.discard_all(waiting)
        self._step(now, out)
        return count

    # -- the store --------------------------------------------------------------------------

    def _note_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        self._transaction.note_resolved(token, failure, now, out)

    def _checkpoint(self, now: Instant, out: list[Effect]) -> None:
        extra = self.destinations.decided()
        if self.journal.checkpoint(self._unconfirmed_ranges(), extra, now, out):
            self._handover.checkpoint_ordered()

    def _unconfirmed_ranges(self) -> list[OriginRange]:
        return [
            *super()._unconfirmed_ranges(),
            *self.pass_through.pending_ranges(),
            *self._handover.pending_ranges(),
        ]

    def _checkpoint_resolved(self, failure: PersistFailed | None, out: list[Effect]) -> None:
        if not failure:
            self._handover.checkpoint_durable(out)
        super()._checkpoint_resolved(failure, out)

    # -- time -------------------------------------------------------------------------------

    def _due(self, now: Instant, out: list[Effect]) -> None:
        self._loop.deadline(now, out)
        self._failover.deadline(now, out)
        self._transaction.deadline(now)
        if self.pass_through.is_overdue(now):
            self._transaction.store_passing(now, out)

    def _next_due(self) -> Instant | None:
        return earliest(
            self._loop.next_deadline(),
            self._transaction.retry_at,
            self.pass_through.overdue_at,
            self._failover.next_deadline(),
        )

    # -- looking in -------------------------------------------------------------------------

    def ask_loads(self, now: Instant, out: list[Effect]) -> None:
        """Ask the destinations what the next status should say of them."""
        for each in self.destinations.reachable:
            if each.told.ask(now):
                question = LoadQuestion(self._broker, each.broker, self.name, each.queue)
                out.append(SendToBroker(question))

    def _load_answered(self, message: LoadAnswer, now: Instant, out: list[Effect]) -> None:
        destination = self.destinations.find(message.source, message.queue)
        if destination is not None and destination.reachable:
            destination.told.answered(message, now)

    def explain(self, now: Instant) -> str:
        return explain(self.destinations, self.balancer, now)

    def row_states(self) -> dict[RowState, list[Interval]]:
        """The rows in each state (``alias/row_life``); rows that are new or gone are left out."""
        each = list(self.destinations)
        return {
            RowState.APPENDING: self._appender.pending_intervals(),
            RowState.ARRIVING: self.pass_through.arriving(),
            RowState.HANDED_OVER: self._handover.under_way(),
            RowState.WAITING: [part for _, level in self.waiting.levels() for part in level],
            RowState.IN_FLIGHT: [part for one in each for part in one.in_flight],
            RowState.DECIDING: [part for one in each for part in one.deciding],
            RowState.DISCARDING: self._transaction.discarding(),
            RowState.DECIDED: [part for one in each for part in one.decided],
        }

    def check_invariants(self) -> None:
        """Every row is in one state; the undecided rows are those that wait or are in flight."""
        states = self.row_states()
        seen = IntervalSet()
        for state, intervals in states.items():
            for low, high in intervals:
                if seen.within(low, high):
                    raise InvariantBroken(
                        f"alias queue {self.name}: rows in [{low}, {high}) are {state.name} and in "
                        "another state"
                    )
                seen.add(low, high)
        undecided = IntervalSet([*states[RowState.WAITING], *states[RowState.IN_FLIGHT]])
        if undecided != self.rows.undecided or self.waiting.count != sum(
            high - low for low, high in states[RowState.WAITING]
        ):
            raise InvariantBroken(
                f"alias queue {self.name}: undecided {self.rows.undecided}, found {undecided}"
            )
