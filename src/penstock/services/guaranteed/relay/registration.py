"""Registration of selectors: what each child wants, and what this broker registers with its parent.

The theory, for one tree of one source:

1. A child registers the selectors that it wants with its parent, with a version.  The parent
   filters what it sends to that child by them at once.
2. The parent wants the union of what its children want.  It registers with its own parent only
   selectors that no other covers; a covered one is registered when its cover is removed.
3. A child's version is confirmed when everything that it needs is confirmed from above.  The
   confirmation names a tick for each pubend: from there on, what comes down the link is complete
   for that version.  At the source itself that tick is the end of the stream.  Ticks, not the order
   of messages, carry the meaning, so a confirmation may overtake data.
4. On a new link no live data is sent before the first confirmation.
5. What a broker holds of the past was filtered by what it wanted then.  ``complete_since`` tells
   from which tick on its knowledge is complete for given selectors; below that it may not answer
   requests by itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from penstock.content.matching.covering_table import CoveringTable
from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.parser import parse
from penstock.core.clock import NEVER
from penstock.core.intervals import Tick
from penstock.core.machine import LinkName
from penstock.services.guaranteed.messages import SubscriptionUpdate


class LinkRegistration:
    """What one child wants."""

    __slots__ = ("_keys", "_next_key", "confirmed", "index", "live_from", "version")

    def __init__(self) -> None:
        self.version = 0
        self.confirmed = False
        self.live_from: dict[str, Tick] = {}
        self.index = SelectorIndex()
        self._keys: dict[str, int] = {}
        self._next_key = 0

    @property
    def selectors(self) -> list[str]:
        """The canonical selectors that the child wants."""
        return list(self._keys)

    @property
    def keys(self) -> Container[str]:
        """The same for membership tests."""
        return self._keys

    def change(self, update: SubscriptionUpdate) -> tuple[list[str], list[str]]:
        """Apply an update; returns the selectors that it added and removed."""
        wanted = dict.fromkeys(update.added)
        removed = (
            [text for text in self._keys if text not in wanted]
            if update.full
            else [text for text in update.removed if text in self._keys]
        )
        added = [text for text in wanted if text not in self._keys]
        for text in removed:
            self.index.remove(self._keys.pop(text))
        for text in added:
            self._keys[text] = self._next_key
            self.index.add(self._next_key, parse(text))
            self._next_key += 1
        self.version = update.version
        return added, removed


class Registrations:
    """The registrations of all children in one tree, and what goes up because of them."""

    def __init__(self) -> None:
        self.links: dict[LinkName, LinkRegistration] = {}
        self.version = 0
        self.confirmed_version = 0
        self._table = CoveringTable()
        self._since: dict[str, dict[str, Tick]] = {}
        self._unconfirmed: dict[str, int] = {}
        self._waiting: list[tuple[int, LinkName, int]] = []

    def update(self, link: LinkName, update: SubscriptionUpdate) -> SubscriptionUpdate | None:
        """Apply a child's update; returns the update to send up, if any."""
        if link not in self.links:
            self.links[link] = LinkRegistration()
        added, removed = self.links[link].change(update)
        upward = self._change(update.tree, added, removed)
        needs = self._unconfirmed_of(self.links[link])
        self._waiting.append((needs, link, update.version))
        return upward

    def withdraw(self, tree: str, link: LinkName) -> SubscriptionUpdate | None:
        """A child is gone or has another parent; returns the update to send up, if any."""
        registration = self.links.pop(link, None)
        if registration is None:
            return None
        self._waiting = [entry for entry in self._waiting if entry[1] != link]
        return self._change(tree, [], registration.selectors)

    def _change(
        self, tree: str, added: Iterable[str], removed: Iterable[str]
    ) -> SubscriptionUpdate | None:
        news: dict[str, None] = {}
        gone: dict[str, None] = {}
        changes = [self._table.add(parse(text)) for text in added]
        changes += [self._table.remove(parse(text)) for text in removed]
        for change in changes:
            for selector in change.advertise:
                if selector.text in gone:
                    del gone[selector.text]
                else:
                    news[selector.text] = None
            for selector in change.withdraw:
                if selector.text in news:
                    del news[selector.text]
                else:
                    gone[selector.text] = None
        if not news and not gone:
            return None
        self.version += 1
        for text in news:
            self._unconfirmed[text] = self.version
        for text in gone:
            self._since.pop(text, None)
            self._unconfirmed.pop(text, None)
        return SubscriptionUpdate(tree, self.version, False, tuple(news), tuple(gone))

    def everything(self, tree: str) -> SubscriptionUpdate:
        """Everything, for a parent that knows nothing yet; all of it must be confirmed."""
        self.version += 1
        texts = [selector.text for selector in self._table.advertised]
        self._unconfirmed = dict.fromkeys(texts, self.version)
        self._waiting = [(self.version, link, version) for _, link, version in self._waiting]
        return SubscriptionUpdate(tree, self.version, True, tuple(texts))

    def confirm(self, version: int, ticks: dict[str, Tick]) -> None:
        """Everything registered up to this version is in force from these ticks on."""
        self.confirmed_version = max(self.confirmed_version, version)
        for text, asked in list(self._unconfirmed.items()):
            if asked <= version:
                del self._unconfirmed[text]
                known = self._since.setdefault(text, {})
                for pubend, tick in ticks.items():
                    known.setdefault(pubend, tick)

    def confirmable(self) -> list[tuple[LinkName, int]]:
        """The children's versions that are in force now; each is returned once."""
        done = [entry for entry in self._waiting if entry[0] <= self.confirmed_version]
        self._waiting = [entry for entry in self._waiting if entry[0] > self.confirmed_version]
        return [(link, version) for _, link, version in done]

    def complete_since(self, selectors: Iterable[str], pubend: str) -> Tick:
        """The tick from which on what this broker received is complete for these selectors."""
        return max((self._since_cover(text, pubend) for text in selectors), default=NEVER)

    def _since_cover(self, text: str, pubend: str) -> Tick:
        cover = self._table.cover_of(parse(text))
        return NEVER if cover is None else self._since.get(cover.text, {}).get(pubend, NEVER)

    def _unconfirmed_of(self, child: LinkRegistration) -> int:
        """The version that must be confirmed before everything that a child wants is in force."""
        stands_for_any = self._table.stands_for_any
        return max(
            (
                version
                for text, version in self._unconfirmed.items()
                if stands_for_any(text, child.keys)
            ),
            default=0,
        )
