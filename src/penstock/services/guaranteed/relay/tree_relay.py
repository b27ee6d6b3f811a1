"""All streams of one tree at one broker: its parent, its children, and what they registered.

The broker that hosts the pubends is its own source: the logs take the place of a parent, and every
registration is in force at once.

A parent may remember what this broker registered when it was its child before, and filter by that.
So live data of a parent is ignored until the parent has confirmed what it was told this time; what
is missed until then is requested.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.content.rows.frame import Frame, fold_silence
from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.trees import Tree
from penstock.services.guaranteed.laws.answer_round_trips import HERE
from penstock.services.guaranteed.links import LOCAL_EDGE
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    DownstreamCongestionQuery,
    Knowledge,
    Nack,
    SubscriptionConfirmed,
    SubscriptionUpdate,
    UpstreamCongestionAlert,
    Withdrawal,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.alert_aggregation import blaming
from penstock.services.guaranteed.relay.registration import Registrations
from penstock.services.guaranteed.relay.relay import RelayStream
from penstock.services.guaranteed.relay.request_filter import filtered
from penstock.services.guaranteed.source.log_requests import LogAnswer
from penstock.services.guaranteed.source.pubend import Pubend


class TreeRelay:
    """One tree of one source, as one broker takes part in it."""

    def __init__(
        self,
        broker: str,
        tree: Tree,
        parameters: GuaranteedParameters,
        pubends: Mapping[str, Pubend],
    ) -> None:
        """``pubends`` are those hosted here; empty unless this broker is the root."""
        self._broker = broker
        self._tree = tree.name
        self.root = tree.root
        self.parent: LinkName | None = None
        self.incarnation = 0
        self._parameters = parameters
        self._pubends = pubends
        self._registrations = Registrations()
        self._links = self._registrations.links
        self._parent_told = False
        self._told_version = 0
        self._earliest: dict[str, Tick] = {}
        self._beginnings: dict[str, Tick] = {}
        self.streams: dict[str, RelayStream] = {}
        for name, pubend in pubends.items():
            self.streams[name] = self._stream(name, pubend.spoken_end)
            pubend.control.links.follow(self._links)

    def _stream(self, pubend: str, position: Tick) -> RelayStream:
        # The log of a hosted pubend is at hand: no link is spared by keeping answers from it.
        kept = 0 if self._pubends else self._parameters.kept_answers_bytes
        return RelayStream(
            pubend,
            self._registrations,
            self._parameters,
            position=position,
            kept_answers_bytes=kept,
        )

    # -- the tree ---------------------------------------------------------------------------

    def tree_changed(self, tree: Tree, out: list[Effect]) -> bool:
        """Take the new place in the tree; True if the way up has changed."""
        if tree.parent == self.parent and tree.incarnation == self.incarnation:
            return False
        if tree.parent != self.parent:
            self.leave(out)
        self.parent = tree.parent
        self.incarnation = tree.incarnation
        self._tell_parent(out)
        return True

    def leave(self, out: list[Effect]) -> None:
        """Take nothing from the parent any more."""
        if self.parent is not None:
            out.append(Send(self.parent, Withdrawal(self._tree), Priority.CONTROL))

    def lost_source(self) -> None:
        """The source cannot be reached at present."""
        self.parent = None
        self._parent_told = False

    def link_lost(self, link: LinkName, out: list[Effect]) -> None:
        """The connection to a neighbour is lost: drop what it registered."""
        if link == self.parent:
            self._parent_told = False
        self._withdrawn(link, out)

    def _withdrawn(self, link: LinkName, out: list[Effect]) -> None:
        for stream in self.streams.values():
            stream.forget_link(link)
        upward = self._registrations.withdraw(self._tree, link)
        if upward is not None:
            self._tell(upward, out)

    def _tell_parent(self, out: list[Effect]) -> None:
        """Register everything with a parent that knows nothing of this broker."""
        for stream in self.streams.values():
            stream.forget_requests()
        self._parent_told = self.parent is not None
        if self.parent is not None:
            update = self._registrations.everything(self._tree)
            self._told_version = update.version
            out.append(Send(self.parent, update, Priority.CONTROL))

    def link_restored(self, link: LinkName, out: list[Effect]) -> None:
        """A neighbour is connected again, and has forgotten what was registered before."""
        if link == self.parent and not self._parent_told:
            self._tell_parent(out)

    def _tell(self, update: SubscriptionUpdate, out: list[Effect]) -> None:
        if self._pubends:
            self._registrations.confirm(update.version, self._positions())
        elif self.parent is not None and self._parent_told:
            out.append(Send(self.parent, update, Priority.CONTROL))

    # -- from below -------------------------------------------------------------------------

    def update(self, link: LinkName, message: SubscriptionUpdate, out: list[Effect]) -> None:
        """A child changes what it has registered."""
        for stream in self.streams.values():
            stream.registration_changes(link, out)
        if message.full:
            self._withdrawn(link, out)
        upward = self._registrations.update(link, message)
        if upward is not None:
            self._tell(upward, out)
        self._confirm_children(out)

    def withdrawal(self, link: LinkName, out: list[Effect]) -> None:
        """A child takes its data from another parent now."""
        self._withdrawn(link, out)

    def request(self, link: LinkName, nack: Nack, now: Instant, out: list[Effect]) -> None:
        """A child requests missing ticks."""
        stream = self.streams.get(nack.pubend)
        if stream is None:
            return
        upward = stream.request(link, nack, now, out)
        pubend = self._pubends.get(nack.pubend)
        if upward is None:
            return
        if pubend is not None:
            for low, high in upward.intervals:
                pubend.request(
                    low,
                    high,
                    upward.filter,
                    out,
                    max_bytes=upward.max_bytes,
                    recovers=upward.recovers,
                )
        elif self.parent is not None:
            out.append(Send(self.parent, upward, Priority.CONTROL))

    # -- from above -------------------------------------------------------------------------

    def confirmed(self, message: SubscriptionConfirmed, out: list[Effect]) -> None:
        """The parent has confirmed what this broker registered."""
        self._earliest.update(message.earliest)
        self._beginnings.update(message.beginnings)
        for pubend, tick in message.ticks.items():
            stream = self.streams.get(pubend)
            if stream is None:
                self.streams[pubend] = self._stream(pubend, tick)
            else:
                stream.position = max(stream.position, tick)
        self._registrations.confirm(message.version, message.ticks)
        self._confirm_children(out)

    def knowledge(self, message: Knowledge, now: Instant, out: list[Effect]) -> None:
        """A piece of a stream from the parent."""
        stream = self.streams.get(message.pubend)
        if stream is None:
            return
        if message.answer_for is None:
            if self._registrations.confirmed_version >= self._told_version:
                stream.live(message.frame, now, out)
        else:
            origin = (message.origin or HERE).over_a_link()
            stream.answered(
                message.frame, message.answer_for, more=message.more, origin=origin, out=out
            )

    def published(self, pubend: str, frames: list[Frame], now: Instant, out: list[Effect]) -> None:
        """Frames of a pubend that is hosted here are durable."""
        stream = self.streams[pubend]
        for frame in frames:
            stream.live(frame, now, out)

    def read(self, pubend: str, answer: LogAnswer, out: list[Effect]) -> None:
        """A piece of the log that answers a request."""
        stream = self.streams[pubend]
        frames = answer.frames
        if answer.filter != LIVE_FILTER:
            frames = fold_silence(filtered(answer.filter, frame) for frame in frames)
        for number, frame in enumerate(frames, 1):
            last = number == len(frames)
            stream.answered(frame, answer.filter, more=answer.more and last, out=out)

    # -- congestion -------------------------------------------------------------------------

    def query(self, query: DownstreamCongestionQuery, out: list[Effect]) -> None:
        """A pubend's congestion query goes down the tree."""
        stream = self.streams.get(query.pubend)
        if stream is not None:
            stream.query(query, out)

    def alert(
        self, link: LinkName, alert: UpstreamCongestionAlert, queued_bytes: int, out: list[Effect]
    ) -> UpstreamCongestionAlert | None:
        """A child's alert, with the bytes queued on the link to it.

        Returned if it is for a pubend of this broker.
        """
        stream = self.streams.get(alert.pubend)
        if stream is None or (self._pubends and link == LOCAL_EDGE):
            # No link lies between a pubend and the edge of its own broker: if that one is late, the
            # processor or the disk is busy, and receipts slow the publishers down already.
            return None
        way = f"{self._broker}->{link}"
        upward = stream.alerts.pass_up(blaming(alert, way, queued_bytes))
        if upward is None or self._pubends:
            return upward
        if self.parent is not None:
            out.append(Send(self.parent, upward, Priority.CONTROL))
        return None

    # -- confirming -------------------------------------------------------------------------

    def _positions(self) -> dict[str, Tick]:
        return {name: stream.position for name, stream in sorted(self.streams.items())}

    def _confirm_children(self, out: list[Effect]) -> None:
        for name, pubend in self._pubends.items():
            self._earliest[name], self._beginnings[name] = pubend.log_start, pubend.beginning
        for link, version in self._registrations.confirmable():
            registration = self._links.get(link)
            if registration is None:
                continue
            ticks = self._positions()
            if not registration.confirmed:
                registration.confirmed = True
                registration.live_from = dict(ticks)
            message = SubscriptionConfirmed(
                self._tree, version, ticks, dict(self._earliest), dict(self._beginnings)
            )
            out.append(Send(link, message, Priority.CONTROL))
