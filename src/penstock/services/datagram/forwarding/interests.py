"""Who wants what of one source's publications, at one broker.

A source is a broker that has publishers.  Interest in its publications is registered hop by hop
towards it: a broker tells the neighbour on its way to the source what it wants itself and what the
neighbours behind it want, reduced by covering.  Publications travel the other way, so they take the
shortest way to every subscriber and never go where nobody wants them.
"""

from __future__ import annotations

from penstock.content.matching.covering_table import CoveringChange, CoveringTable
from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.selector import Selector
from penstock.core.machine import LinkName
from penstock.services.datagram.attribute_cache import AttributeCache
from penstock.services.datagram.messages import Attribute

NO_CHANGE = CoveringChange()


class SourceInterests:
    """The interests in one source, of this broker and of those behind its links."""

    def __init__(self, source: str) -> None:
        """Nobody wants anything; the way to the source is not known."""
        self.source = source
        self.upstream: LinkName | None = None
        self._covering = CoveringTable()
        self._index = SelectorIndex()
        self._wanting = AttributeCache(self._match)
        self._links: dict[int, LinkName] = {}
        self._keys: dict[LinkName, dict[str, int]] = {}
        self._last_key = 0

    @property
    def advertised(self) -> tuple[str, ...]:
        """What the neighbour upstream must know."""
        return tuple(selector.text for selector in self._covering.advertised)

    def links_wanting(self, attributes: dict[str, Attribute]) -> tuple[LinkName, ...]:
        """The links behind which somebody wants a message, each once."""
        return self._wanting.of(attributes) if self._links else ()

    def _match(self, attributes: dict[str, Attribute]) -> tuple[LinkName, ...]:
        found = self._index.match_row(attributes)
        return tuple(dict.fromkeys(self._links[key] for key in found))

    def selectors_of(self, link: LinkName) -> list[str]:
        """What is wanted behind a link."""
        return list(self._keys.get(link, ()))

    # -- this broker's own subscribers ------------------------------------------------------

    def add_local(self, selector: Selector) -> CoveringChange:
        """A subscriber of this broker wants it."""
        return self._covering.add(selector)

    def remove_local(self, selector: Selector) -> CoveringChange:
        """A subscriber of this broker wants it no more."""
        return self._covering.remove(selector)

    # -- the brokers behind links -----------------------------------------------------------

    def add(self, link: LinkName, selector: Selector) -> CoveringChange:
        """Somebody behind a link wants it."""
        keys = self._keys.setdefault(link, {})
        if selector.text in keys:
            return NO_CHANGE
        self._last_key += 1
        keys[selector.text] = self._last_key
        self._links[self._last_key] = link
        self._index.add(self._last_key, selector)
        self._wanting.forget()
        return self._covering.add(selector)

    def remove(self, link: LinkName, text: str) -> CoveringChange:
        """Nobody behind a link wants it any more."""
        key = self._keys.get(link, {}).pop(text, None)
        if key is None:
            return NO_CHANGE
        selector = self._index.selector(key)
        self._index.remove(key)
        self._wanting.forget()
        del self._links[key]
        return self._covering.remove(selector)
