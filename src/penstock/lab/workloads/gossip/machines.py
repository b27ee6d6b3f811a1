"""A gossip peer of a simulated run: the service's own machine, with the application on it."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Instant, earliest
from penstock.core.machine import DeadlineReached, Effect, Fact, Trace
from penstock.lab.oracle.gossip.history import GossipHistory
from penstock.lab.service import Stage
from penstock.lab.workloads.gossip.life import begun_life
from penstock.lab.workloads.gossip.tables import GossipPeer
from penstock.services.gossip.facts import Leave, Meet
from penstock.services.gossip.peer import Peer


class SimulatedPeer:
    """A machine that gossips and publishes at its pace; its effects are datagrams and traces."""

    def __init__(self, client: GossipPeer, history: GossipHistory, stage: Stage) -> None:
        """Its address is the name of the client."""
        life = begun_life(client, history, stage)
        self.peer = Peer(client.name, life.parameters, life.seed, now=stage.now)
        self.peer.handle(Meet(life.contacts), now=stage.now)
        self._program = life.program
        self._rounds = life.rounds
        self._says_goodbye = client.stops == "leave"

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Pass a fact to the peer; at a deadline, do what is due at the application first."""
        effects: list[Effect] = []
        if type(fact) is not DeadlineReached:
            self._tell(fact, now, effects)
            return effects
        while (due := self._program.next_fact(now=now)) is not None:
            self._tell(due, now, effects)
        deadline = self.peer.next_deadline()
        if deadline is not None and deadline <= now:
            self._tell(DeadlineReached(), now, effects)
        return effects

    def _tell(self, fact: Fact, now: Instant, effects: list[Effect]) -> None:
        for effect in self.peer.handle(fact, now=now):
            if self._program.saw(effect, now=now):
                continue
            effects.append(effect)
            if type(effect) is Trace:
                skipped = self._rounds.skipped(effect.record)
                if skipped is not None:
                    effects.append(Trace(skipped))

    def next_deadline(self) -> Instant | None:
        """The next round, token, publication or resize."""
        return earliest(self.peer.next_deadline(), self._program.next_deadline())

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if a bound of the peer does not hold."""
        self.peer.check_invariants()

    def farewell(self, *, now: Instant) -> Iterable[Effect]:
        """Stop, and say goodbye unless the peer is to vanish."""
        effects: list[Effect] = []
        if self._says_goodbye:
            self._tell(Leave(), now, effects)
        self._program.history.stop(now=now)
        return effects
