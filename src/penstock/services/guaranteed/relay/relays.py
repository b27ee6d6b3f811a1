"""All relays of one broker: one for each tree of each source in the overlay.

A message belongs to a tree by its pubend or by the tree's name.  What comes from above is taken
only from the parent in that tree; answers to requests are taken from every neighbour.

A source that finds equal paths has other trees than before.  Its pubends move to them with nothing
registered: everything is registered and confirmed anew, as if the source had been restarted.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.trees import Tree
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    DownstreamCongestionQuery,
    FullLinkReport,
    Knowledge,
    Nack,
    SubscriptionConfirmed,
    SubscriptionUpdate,
    UpstreamCongestionAlert,
    Withdrawal,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.link_reports import LinkReports
from penstock.services.guaranteed.relay.tree_relay import TreeRelay
from penstock.services.guaranteed.source.pubend import Pubend


class Relays:
    """The relays of one broker, by tree."""

    def __init__(
        self,
        broker: str,
        parameters: GuaranteedParameters,
        hosted: Mapping[str, Pubend],
        queued_bytes: Mapping[LinkName, int],
    ) -> None:
        """``hosted`` are the pubends of this broker.

        ``queued_bytes`` is kept up to date by the owner: what waits on each link at present.
        """
        self._broker = broker
        self._parameters = parameters
        self._hosted = hosted
        self._queued_bytes = queued_bytes
        self._reports = LinkReports(broker)
        self._by_tree: dict[str, TreeRelay] = {}
        self._by_pubend: dict[str, TreeRelay] = {}
        self.handlers: Handlers = {
            Knowledge: self.knowledge,
            Nack: self.request,
            DownstreamCongestionQuery: self.query,
            SubscriptionUpdate: self.update,
            SubscriptionConfirmed: self.confirmed,
            Withdrawal: self.withdrawal,
        }

    # -- the overlay ------------------------------------------------------------------------

    def trees_changed(self, trees: Mapping[str, Tree], out: list[Effect]) -> list[Tree]:
        """Take the new place in every tree; returns those in which the way up has changed."""
        roots = {tree.root for tree in trees.values()}
        for name, relay in list(self._by_tree.items()):
            if name not in trees and relay.root in roots:
                # The source has other trees now.
                relay.leave(out)
                del self._by_tree[name]
        changed = [tree for _, tree in sorted(trees.items()) if self._take_place(tree, out)]
        for name, relay in self._by_tree.items():
            if name not in trees:
                relay.lost_source()
        return changed

    def _take_place(self, tree: Tree, out: list[Effect]) -> bool:
        relay = self._by_tree.get(tree.name)
        if relay is None:
            hosted = {}
            if tree.root == self._broker:
                hosted = {each: self._hosted[each] for each in tree.pubends if each in self._hosted}
            relay = TreeRelay(self._broker, tree, self._parameters, hosted)
            self._by_tree[tree.name] = relay
        for pubend in tree.pubends:
            self._by_pubend[pubend] = relay
        return relay.tree_changed(tree, out)

    def of_pubend(self, pubend: str) -> TreeRelay | None:
        """The relay of a pubend, once the overlay has a tree for it."""
        return self._by_pubend.get(pubend)

    def link_up(self, link: LinkName, out: list[Effect]) -> None:
        for relay in self._by_tree.values():
            relay.link_restored(link, out)

    def link_down(self, link: LinkName, out: list[Effect]) -> None:
        for relay in self._by_tree.values():
            relay.link_lost(link, out)

    # -- from above -------------------------------------------------------------------------

    def knowledge(
        self, link: LinkName, message: Knowledge, now: Instant, out: list[Effect]
    ) -> None:
        relay = self._by_pubend.get(message.pubend)
        if relay is not None and (relay.parent == link or message.answer_for is not None):
            before = len(out)
            relay.knowledge(message, now, out)
            if message.answer_for is None and self._reports.watches_any:
                self._note_sent(message.pubend, out[before:])

    def _note_sent(self, pubend: str, sent: list[Effect]) -> None:
        for effect in sent:
            if isinstance(effect, Send) and isinstance(effect.message, Knowledge):
                self._reports.sent(pubend, effect.link, effect.message.frame.weight)

    def links_measured(
        self, flow_bytes: Mapping[LinkName, Mapping[str, int]], now: Instant, out: list[Effect]
    ) -> None:
        """Report the links on which live data of others waits to the sources."""
        if not flow_bytes and not self._reports.watches_any:
            return
        for report in self._reports.measured(flow_bytes, self._by_pubend, now):
            self._pass_up(report, out)

    def link_reported(
        self, link: LinkName, message: FullLinkReport, now: Instant, out: list[Effect]
    ) -> bool:
        """Pass a report on; True if it is for a pubend of this broker."""
        if message.pubend in self._hosted:
            return True
        self._pass_up(message, out)
        return False

    def _pass_up(self, report: FullLinkReport, out: list[Effect]) -> None:
        relay = self._by_pubend.get(report.pubend)
        if relay is not None and relay.parent is not None:
            out.append(Send(relay.parent, report, Priority.CONTROL))

    def query(
        self, link: LinkName, message: DownstreamCongestionQuery, now: Instant, out: list[Effect]
    ) -> None:
        relay = self._by_pubend.get(message.pubend)
        if relay is not None and link == relay.parent:
            relay.query(message, out)

    def confirmed(
        self, link: LinkName, message: SubscriptionConfirmed, now: Instant, out: list[Effect]
    ) -> None:
        relay = self._by_tree.get(message.tree)
        if relay is not None and link == relay.parent:
            for pubend in message.ticks:
                self._by_pubend[pubend] = relay
            relay.confirmed(message, out)

    # -- from below -------------------------------------------------------------------------

    def request(self, link: LinkName, message: Nack, now: Instant, out: list[Effect]) -> None:
        relay = self._by_pubend.get(message.pubend)
        if relay is not None:
            relay.request(link, message, now, out)

    def update(
        self, link: LinkName, message: SubscriptionUpdate, now: Instant, out: list[Effect]
    ) -> None:
        relay = self._by_tree.get(message.tree)
        if relay is not None:
            relay.update(link, message, out)

    def withdrawal(
        self, link: LinkName, message: Withdrawal, now: Instant, out: list[Effect]
    ) -> None:
        relay = self._by_tree.get(message.tree)
        if relay is not None:
            relay.withdrawal(link, out)

    def alert(
        self, link: LinkName, message: UpstreamCongestionAlert, out: list[Effect]
    ) -> UpstreamCongestionAlert | None:
        """Pass a child's alert on; returned if it is about a pubend that is hosted here."""
        relay = self._by_pubend.get(message.pubend)
        told = (message.nonrecovering, message.recovering)
        if relay is None or not all(each is None or each.is_possible for each in told):
            return None
        return relay.alert(link, message, self._queued_bytes.get(link, 0), out)

    def acknowledge(self, message: Acknowledgement, out: list[Effect]) -> bool:
        """Pass an edge's statement on; True if it is for this broker."""
        if message.root == self._broker:
            return bool(self._hosted)
        for relay in self._by_tree.values():
            if relay.root == message.root and relay.parent is not None:
                out.append(Send(relay.parent, message, Priority.CONTROL))
                break
        return False
