"""All relays of one broker: one for each source in the overlay.

A message belongs to a source by its pubend or by its root.  What comes from above is taken only
from the parent in that source's tree; answers to requests are taken from every neighbour.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
from penstock.services.guaranteed.relay.source_relay import SourceRelay
from penstock.services.guaranteed.source.pubend import Pubend


class Relays:
    """The relays of one broker, by source."""

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
        self.own: SourceRelay | None = None
        """The relay of the pubends of this broker, once the overlay has a tree for them."""
        self._by_root: dict[str, SourceRelay] = {}
        self._by_pubend: dict[str, SourceRelay] = {}
        self.handlers: Handlers = {
            Knowledge: self.knowledge,
            Nack: self.request,
            DownstreamCongestionQuery: self.query,
            SubscriptionUpdate: self.update,
            SubscriptionConfirmed: self.confirmed,
            Withdrawal: self.withdrawal,
        }

    # -- the overlay ------------------------------------------------------------------------

    def tree_changed(self, root: str, tree: Tree, out: list[Effect]) -> bool:
        """Take the new place in a source's tree; True if the way up has changed."""
        source = self._by_root.get(root)
        if source is None:
            is_own = root == self._broker
            hosted = self._hosted if is_own else {}
            source = SourceRelay(self._broker, root, self._parameters, hosted)
            self._by_root[root] = source
            self.own = source if is_own else self.own
        for pubend in tree.pubends:
            self._by_pubend[pubend] = source
        return source.tree_changed(tree, out)

    def lost_sources(self, reachable: Collection[str]) -> None:
        """There is no way to any other source at present."""
        for root, source in self._by_root.items():
            if root not in reachable:
                source.lost_source()

    def link_up(self, link: LinkName, out: list[Effect]) -> None:
        for source in self._by_root.values():
            source.link_restored(link, out)

    def link_down(self, link: LinkName, out: list[Effect]) -> None:
        for source in self._by_root.values():
            source.link_lost(link, out)

    # -- from above -------------------------------------------------------------------------

    def knowledge(
        self, link: LinkName, message: Knowledge, now: Instant, out: list[Effect]
    ) -> None:
        source = self._by_pubend.get(message.pubend)
        if source is not None and (source.parent == link or message.answer_for is not None):
            before = len(out)
            source.knowledge(message, now, out)
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
        source = self._by_pubend.get(report.pubend)
        if source is not None and source.parent is not None:
            out.append(Send(source.parent, report, Priority.CONTROL))

    def query(
        self, link: LinkName, message: DownstreamCongestionQuery, now: Instant, out: list[Effect]
    ) -> None:
        source = self._by_pubend.get(message.pubend)
        if source is not None and link == source.parent:
            source.query(message, out)

    def confirmed(
        self, link: LinkName, message: SubscriptionConfirmed, now: Instant, out: list[Effect]
    ) -> None:
        source = self._by_root.get(message.root)
        if source is not None and link == source.parent:
            for pubend in message.ticks:
                self._by_pubend[pubend] = source
            source.confirmed(message, out)

    # -- from below -------------------------------------------------------------------------

    def request(self, link: LinkName, message: Nack, now: Instant, out: list[Effect]) -> None:
        source = self._by_pubend.get(message.pubend)
        if source is not None:
            source.request(link, message, now, out)

    def update(
        self, link: LinkName, message: SubscriptionUpdate, now: Instant, out: list[Effect]
    ) -> None:
        source = self._by_root.get(message.root)
        if source is not None:
            source.update(link, message, out)

    def withdrawal(
        self, link: LinkName, message: Withdrawal, now: Instant, out: list[Effect]
    ) -> None:
        source = self._by_root.get(message.root)
        if source is not None:
            source.withdrawal(link, out)

    def alert(
        self, link: LinkName, message: UpstreamCongestionAlert, out: list[Effect]
    ) -> UpstreamCongestionAlert | None:
        """Pass a child's alert on; returned if it is about a pubend that is hosted here."""
        source = self._by_pubend.get(message.pubend)
        told = (message.nonrecovering, message.recovering)
        if source is None or not all(each is None or each.is_possible for each in told):
            return None
        return source.alert(link, message, self._queued_bytes.get(link, 0), out)

    def acknowledge(self, message: Acknowledgement, out: list[Effect]) -> bool:
        """Pass an edge's statement on; True if it is for this broker."""
        source = self._by_root.get(message.root)
        return source is not None and source.acknowledge(message, out)
