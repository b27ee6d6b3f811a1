"""What the application at one gossip peer does, the same in both worlds.

1. It offers a publication whenever one falls due, unless ``BLOCKED_AT`` of its publications still
   wait for their outcome.
2. It resizes the buffer at the steps of its table.
3. It writes what the peer tells it into its history.
"""

from __future__ import annotations

from random import Random
from typing import Final

from penstock.core.clock import Instant, earliest, seconds
from penstock.core.machine import Effect, Fact
from penstock.lab.oracle.gossip.peers import PeerHistory
from penstock.lab.scenario.curve import CurvePoint, points_of
from penstock.lab.service import Stage
from penstock.lab.workloads.gossip.offers import OfferTimes
from penstock.lab.workloads.gossip.tables import GossipPeer
from penstock.services.gossip.facts import (
    DeliverEvents,
    PublicationRefused,
    Published,
    PublishEvent,
    ResizeBuffer,
)

BLOCKED_AT: Final = 2
"""A sender with this many waiting publications offers no more: it is blocked (Figure 3)."""


class PeerProgram:
    """The application at one peer."""

    def __init__(
        self, client: GossipPeer, history: PeerHistory, stage: Stage, random: Random
    ) -> None:
        """``random`` draws when the first publication falls due."""
        self.history = history
        self._payload_bytes = client.payload_bytes
        self._began_at = stage.began_at
        self._offers = OfferTimes(
            client.rate_msgs_per_s,
            random,
            began_at=stage.began_at,
            now=stage.now,
            stop_at=stage.stop_at,
        )
        now_s = stage.second(stage.now)
        steps = () if client.buffer_events is None else points_of(client.buffer_events)
        self._resizes: list[CurvePoint] = [step for step in steps if step.at_s > now_s][::-1]

    def next_deadline(self) -> Instant | None:
        """When it does something next."""
        return earliest(self._offers.next_at, self._next_resize_at)

    @property
    def _next_resize_at(self) -> Instant | None:
        return self._began_at + seconds(self._resizes[-1].at_s) if self._resizes else None

    def next_fact(self, *, now: Instant) -> Fact | None:
        """One thing that is due and that the peer must be told; None if nothing is left."""
        resize_at = self._next_resize_at
        if resize_at is not None and resize_at <= now:
            return ResizeBuffer(int(self._resizes.pop().value))
        while (due_at := self._offers.next_at) is not None and due_at <= now:
            self._offers.advance()
            if self.history.waiting < BLOCKED_AT:
                return PublishEvent(*self.history.offer(self._payload_bytes, now=now))
            self.history.blocked(now=now)
        return None

    def saw(self, effect: Effect, *, now: Instant) -> bool:
        """Record an effect; False if it is not for the application."""
        if type(effect) is DeliverEvents:
            self.history.received([event.payload for event in effect.events], now=now)
        elif type(effect) is Published:
            self.history.published(effect.token, now=now)
        elif type(effect) is PublicationRefused:
            self.history.refused(now=now)
        else:
            return False
        return True
