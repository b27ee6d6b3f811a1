"""An alias queue: write-only, durable, on the producer's side; it forwards to queues elsewhere.

1. What is sent stays here, visible, until one destination has it (Section II).  It is stored here
   first, unless its destination is near and takes it at once (``alias/pass_through``), or is a
   queue of the same broker (``alias/handover``); the producer hears of it when it is durable,
   wherever that is.
2. Forwarding, and everything that destinations say, is penstock.services.queues.alias.forwarding.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import IntervalSet
from penstock.core.machine import Effect, InvariantBroken, LinkName, LogRead, PersistFailed
from penstock.core.tokens import Tokens
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.admission import Entrance
from penstock.services.queues.alias.destination import Destination
from penstock.services.queues.alias.forwarding import Forwarding
from penstock.services.queues.alias.handover import Handover
from penstock.services.queues.alias.pass_through import Passage
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.log.append import Intake
from penstock.services.queues.messages import HandedOver, RowsEntry, SendToQueue
from penstock.services.queues.parameters import AliasConfig, QueueParameters
from penstock.services.queues.queue.senders import ClientSender, Sender
from penstock.services.queues.replies import answer_client, client_reply
from penstock.services.queues.why import explain


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
        self.log = f"alias/{config.name}"
        self.rows = AliasRows(self.log, parameters, tokens, saved=saved, logs=logs, now=now)
        self._journal = self.rows.journal
        self._intake: Intake[Sender] = Intake(self._journal)
        self.passage = Passage(self.rows, self._intake, config, parameters)
        self.forwarding = Forwarding(broker, config, parameters, self.rows, self.passage, now)
        self._handover = Handover(config.name, self.rows, self.passage, self.forwarding)
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
        self.received = WindowRateMeter(now)

    def handed_over(self, queue: str, origins: list[OriginRange]) -> None:
        """Before the start: the journal of a queue of this broker says what it was given."""
        self._handover.found(queue, origins)

    def start(self, now: Instant, out: list[Effect]) -> None:
        """Read the journal."""
        self._journal.start(out)
        if self._journal.ready:
            self._begin(now, out)

    # -- sending ----------------------------------------------------------------------------

    def send(
        self, sender: ClientSender, message: SendToQueue, now: Instant, out: list[Effect]
    ) -> None:
        """A client's rows."""
        takers = self.forwarding.destinations.takers(now)
        self.passage.open(now, near=self.forwarding.are_near(takers), out=out)
        self.entrance.send(sender, message, now, out)
        self.passage.close()
        self._step(takers, now, out)

    def _give_answers(self, now: Instant, out: list[Effect]) -> None:
        for answer in self._intake.answers():
            assert isinstance(answer.sender, ClientSender)
            reply = client_reply(answer.sender, answer)
            answer_client(answer.sender, reply, self._broker, out)

    def step(self, now: Instant, out: list[Effect]) -> None:
        """Forward what can be forwarded now."""
        self._step(self.forwarding.destinations.takers(now), now, out)

    def _step(self, takers: dict[str, Destination], now: Instant, out: list[Effect]) -> None:
        if not self._journal.ready:
            return
        if self.forwarding.are_here(takers):
            self._handover.step(list(takers), now, out)
        else:
            for rows in self.passage.arrivals():
                self._arrived(rows, now, out, stored=False)
        self.forwarding.step(now, out, takers)

    def handover_answered(self, message: HandedOver, now: Instant, out: list[Effect]) -> None:
        """A queue of this broker has rows, or refused them."""
        self._handover.answered(message, f"{message.queue}@{self._broker}", now, out)
        if not message.failure:
            self.received.add(message.count, now)
        self._give_answers(now, out)
        self.step(now, out)

    def _arrived(self, rows: RowsEntry, now: Instant, out: list[Effect], *, stored: bool) -> None:
        self.forwarding.loop.begin(now, out)
        count = self.rows.arrived(rows, stored=stored).live
        self.forwarding.balancer.produced(count)
        self.received.add(count, now)

    # -- the overlay and operators ----------------------------------------------------------

    def routes_changed(
        self, next_hops: Mapping[str, LinkName], now: Instant, out: list[Effect]
    ) -> None:
        """Some destinations can be reached now, or no longer."""
        self.forwarding.routes_changed(next_hops, now, out)
        self.step(now, out)

    def add_destination(
        self, address: str, next_hops: Mapping[str, LinkName], now: Instant, out: list[Effect]
    ) -> None:
        """A destination more, or a retired one again."""
        self.forwarding.destinations.add(address)
        self.routes_changed(next_hops, now, out)

    def retire_destination(self, address: str, now: Instant, out: list[Effect]) -> None:
        """A destination gets nothing more; what it has not stored goes elsewhere."""
        self.forwarding.retire(address)
        self.step(now, out)

    def destinations(self) -> list[str]:
        """The addresses in use."""
        return self.forwarding.destinations.addresses

    def purge(self, now: Instant, out: list[Effect]) -> int:
        """Discard what waits here (not what is under way); how many messages."""
        count = self.forwarding.purge()
        self.step(now, out)
        return count

    # -- the store's word -------------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Something is durable, or was refused."""
        if self._journal.resolved(token, failure):
            if not failure:
                self._handover.saved(out)
            self._journal.trim(self.rows.entries.lowest, out)
            return
        self.entrance.resolved(token, failure, out)
        stored = self._intake.resolved(token, failure)
        if stored is not None:
            self._arrived(stored, now, out, stored=True)
        self.forwarding.note_resolved(token, failure, now, out)
        self._give_answers(now, out)
        self.step(now, out)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """The store answered a read."""
        if self._journal.is_recovery(fact.token):
            self._recover(fact, now, out)
        elif fact.token == self.forwarding.body_token:
            self.forwarding.body_token = None
            for entry in fact.frames:
                if isinstance(entry, RowsEntry):
                    self.rows.entries.load(entry.frame)
            if fact.lost:
                self._journal.note_lost(fact)
                self.forwarding.lose(fact.lost)
            self.step(now, out)

    def _recover(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        for decision in self.rows.recovered(fact, out):
            self.forwarding.recovered(decision)
        if self._journal.ready:
            self._begin(now, out)

    def _begin(self, now: Instant, out: list[Effect]) -> None:
        """Everything that a restart must know was read."""
        self.entrance.journal_read(now, out)
        self.forwarding.announce_all(now, out)
        self.step(now, out)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Whatever forwarding has to do, save and trim."""
        self.forwarding.deadline(now, out)
        save_at = self._journal.checkpoint_at()
        if save_at is not None and now >= save_at:
            pending = [
                *self._intake.pending_ranges(),
                *self.passage.pending_ranges(),
                *self._handover.pending_ranges(),
            ]
            confirmed = self.forwarding.destinations.confirmed()
            if self._journal.checkpoint(pending, confirmed, now, out):
                self._handover.save_ordered()
            self._journal.trim(self.rows.entries.lowest, out)
        self.step(now, out)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(self.forwarding.next_deadline(), self._journal.checkpoint_at())

    # -- looking in -------------------------------------------------------------------------

    def explain(self, now: Instant) -> str:
        """What holds messages back, in a sentence."""
        return explain(self.forwarding.destinations, self.forwarding.balancer, now)

    def check_invariants(self) -> None:
        """Every undecided row waits or is under way to exactly one destination."""
        places = IntervalSet()
        span = self.rows.waiting.count
        for _, level in self.rows.waiting.levels():
            for low, high in level:
                places.add(low, high)
        for each in self.forwarding.destinations:
            span += each.in_flight.span
            for low, high in each.in_flight:
                places.add(low, high)
        if places != self.rows.undecided or span != self.rows.undecided.span:
            raise InvariantBroken(
                f"alias queue {self.name}: undecided {self.rows.undecided}, found {places} ({span})"
            )
