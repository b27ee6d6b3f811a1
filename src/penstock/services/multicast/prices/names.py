"""The prices that a message names: which price of which link its sender used.

1. A link corrects the price that it had asked of the packets that arrive (``laws.improved_price``),
   so every packet must name the price of every link on its tree that costs something.  If it named
   only the dearest link, the others would take it for a packet of which they had asked nothing, and
   would hold a buffer above their target to make up for the difference.
2. A name has 32 bits: the last bits of the link's number and of its price's sequence.  A broker
   looks only for its own links, so two links are confused once in four million pairs.  A sequence
   is told from its last bits for ``SEQUENCE_SPAN`` updates, 51 s, four times what a link remembers.
3. A broker removes the names of its own links from a message that it passes on: no other broker
   can use them.
4. A message names ``MOST_NAMED`` links at most, the dearest ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.services.multicast.messages import MOST_NAMED, PriceRecord

SEQUENCE_BITS: Final = 10
SEQUENCE_SPAN: Final = 1 << SEQUENCE_BITS
TAG_MASK: Final = (1 << (32 - SEQUENCE_BITS)) - 1


def tag_of(link_number: int) -> int:
    """The part of a name that stands for the link."""
    return link_number & TAG_MASK


def price_name(record: PriceRecord) -> int:
    """The name of one price of one link."""
    return tag_of(record.link) << SEQUENCE_BITS | record.sequence % SEQUENCE_SPAN


def names_of(records: list[PriceRecord]) -> tuple[int, ...]:
    """The names of these prices, or of the highest of them."""
    if len(records) > MOST_NAMED:
        records = sorted(records, key=lambda each: -each.price)[:MOST_NAMED]
    return tuple([price_name(each) for each in records])


def named_sequence(names: Iterable[int], tag: int, latest: int) -> int | None:
    """The sequence of the price that a message names of a link; None if it names none.

    ``latest`` is the sequence of the link's present price.
    """
    for name in names:
        if name >> SEQUENCE_BITS == tag:
            return latest - (latest - name) % SEQUENCE_SPAN
    return None


def without(names: tuple[int, ...], tags: Iterable[int]) -> tuple[int, ...]:
    """The names of other links than these."""
    used = set(tags)
    return tuple([name for name in names if name >> SEQUENCE_BITS not in used])
