"""The publishers that are connected to the pubends of one broker.

1. A publisher opens on its connection before it publishes.  It gets the pubend that it asked for;
   otherwise always the same one for the same name (``placement``).
2. A name has one publisher at a time at each pubend (``sequence_table``).  A publisher that is
   replaced is told, and its waiting publications are dropped.
3. Which numbers of a name are stored is unknown before the log has been read: until then requests
   to open wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.services.guaranteed.links import OWN_SESSION
from penstock.services.guaranteed.messages import (
    CloseProducer,
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishRefused,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.placement import open_to_clients, placed
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.staging.staged_epoch import SINK_PREFIX, is_sink_name

TAKEN_OVER: Final = (
    "another publisher named {name!r} was opened after this one; give each its own name"
)

MOST_OPENING: Final = 100_000
"""Requests to open that may wait until the log is read: ten from every client."""


class Publishers:
    """The open publishers of all connections."""

    def __init__(
        self, broker: str, parameters: GuaranteedParameters, pubends: Mapping[str, Pubend]
    ) -> None:
        """``pubends`` are those that the broker hosts."""
        self._broker = broker
        self._most = parameters.producers_per_session
        self._pubends = pubends
        self._by_session: dict[LinkName, dict[str, Pubend]] = {}
        self._session_of: dict[tuple[str, str], LinkName] = {}
        """Where the publisher of a name is connected, for each pubend."""
        self._early: list[tuple[LinkName, OpenProducer]] = []

    def open(
        self, session: LinkName, message: OpenProducer, now: Instant, out: list[Effect]
    ) -> None:
        """A client wants to publish under a name."""
        pubend = self._choose_pubend(session, message)
        if pubend is not None and not pubend.ready and len(self._early) < MOST_OPENING:
            self._early.append((session, message))
            return
        refusal = self._objection(session, message, pubend)
        if refusal is not None or pubend is None:
            out.append(Send(session, refusal, Priority.CONTROL))
            return
        self._take_over(session, message.producer, pubend, out)
        sequence = pubend.next_sequence(message.producer)
        reply = ProducerOpened(message.producer, pubend.name, sequence)
        out.append(Send(session, reply, Priority.CONTROL))
        if pubend.control.limit_msgs_per_s is not None:
            out.append(Send(session, pubend.control.notice(now), Priority.CONTROL))

    def _choose_pubend(self, session: LinkName, message: OpenProducer) -> Pubend | None:
        name = message.pubend
        if session != OWN_SESSION:
            name = placed(self._pubends, message.producer, message.pubend)
        return self._pubends.get(name)

    def _objection(
        self, session: LinkName, message: OpenProducer, pubend: Pubend | None
    ) -> ProducerRefused | None:
        producer, reason = message.producer, ""
        mine = self._by_session.get(session, {})
        if len(mine) >= self._most and producer not in mine:
            reason = (
                f"this connection has {self._most} producers, the most allowed "
                "(producers_per_session)"
            )
        elif pubend is None:
            hosted = ", ".join(open_to_clients(self._pubends)) or "none"
            wanted = f"no pubend {message.pubend!r}" if message.pubend else "no pubend"
            reason = f"broker {self._broker!r} hosts {wanted} (it hosts: {hosted})"
        elif not pubend.ready:
            reason = "the broker is still starting; retry"
        elif is_sink_name(producer):
            reason = f"names that begin with {SINK_PREFIX!r} belong to sinks; choose another name"
        elif not pubend.open(producer, message.instance, resumes=message.resumes):
            return ProducerRefused(producer, TAKEN_OVER.format(name=producer), taken_over=True)
        return ProducerRefused(producer, reason) if reason else None

    def _take_over(
        self, session: LinkName, producer: str, pubend: Pubend, out: list[Effect]
    ) -> None:
        """Give the session's publisher the name; tell the one that had it on another session."""
        before = self._session_of.get((pubend.name, producer), session)
        if before != session:
            self._by_session[before].pop(producer, None)
            pubend.producer_left(before, producer)
            refusal = ProducerRefused(producer, TAKEN_OVER.format(name=producer), taken_over=True)
            out.append(Send(before, refusal, Priority.CONTROL))
        mine = self._by_session.setdefault(session, {})
        if mine.get(producer, pubend) is not pubend:
            # It moves to another pubend and leaves the one before.
            self._close(session, producer)
        mine[producer] = pubend
        self._session_of[pubend.name, producer] = session

    def pubend_ready(self, now: Instant, out: list[Effect]) -> None:
        """A log was read: open the publishers that waited for it."""
        if not self._early:
            return
        early, self._early = self._early, []
        for session, message in early:
            self.open(session, message, now, out)

    def pubend_of(self, session: LinkName, message: Publish, out: list[Effect]) -> Pubend | None:
        """The pubend of a publication's producer; a producer that is not open is refused."""
        mine = self._by_session.get(session)
        pubend = None if mine is None else mine.get(message.producer)
        if pubend is None:
            reason = f"producer {message.producer!r} was not opened on this connection"
            first, count = message.first_sequence, len(message.batch)
            refusal = PublishRefused(message.producer, first, count, reason)
            out.append(Send(session, refusal, Priority.CONTROL))
        return pubend

    def sessions_of(self, pubend: Pubend) -> list[LinkName]:
        """The connections that publish to a pubend."""
        return [session for session, mine in self._by_session.items() if pubend in mine.values()]

    def close_producer(
        self, session: LinkName, message: CloseProducer, now: Instant, out: list[Effect]
    ) -> None:
        self._close(session, message.producer)

    def _close(self, session: LinkName, producer: str) -> None:
        pubend = self._by_session.get(session, {}).pop(producer, None)
        if pubend is not None:
            pubend.producer_left(session, producer)
            if self._session_of.get((pubend.name, producer)) == session:
                del self._session_of[pubend.name, producer]

    def session_closed(self, session: LinkName) -> None:
        """A client's connection is gone, with its publishers."""
        self._early = [entry for entry in self._early if entry[0] != session]
        for producer in list(self._by_session.get(session, ())):
            self._close(session, producer)
        self._by_session.pop(session, None)
