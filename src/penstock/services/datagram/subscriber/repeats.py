"""Recognises publications that came before: a message is delivered at most once.

While routes change, brokers may disagree for a moment about the tree of a publisher, and a message
reaches a subscriber over the old path and over the new one.

1. The numbers of one incarnation of a publisher are remembered in a ring: a number has the place of
   its remainder, so a place holds the latest number of its kind.
2. A number that its place holds has come before.  If the place holds a later one, the message is
   ``REMEMBERED`` numbers late or later: it may have come before, and is not delivered.
3. At most ``MAX_STREAMS`` incarnations are remembered; the one that began first is forgotten.
"""

from __future__ import annotations

from array import array
from typing import Final

from penstock.core.clock import Instant
from penstock.services.datagram.messages import ClientAddress, Publication

REMEMBERED: Final = 1024
"""How late a message may be: at 10,000 messages a second, the 0.1 s by which two paths differ."""

MAX_STREAMS: Final = 4096
"""Publishers that one subscriber remembers, each with 8 kB."""

NEVER_CAME: Final = array("q", [-1]) * REMEMBERED


class Repeats:
    """The numbers that came lately, for each publisher."""

    def __init__(self) -> None:
        self._came: dict[tuple[ClientAddress, Instant], array[int]] = {}

    def is_new(self, publication: Publication) -> bool:
        """Whether a publication comes for the first time; it is remembered."""
        stream = (publication.source, publication.incarnation)
        came = self._came.get(stream)
        if came is None:
            came = self._remember(stream)
        number = publication.sequence
        place = number % REMEMBERED
        if came[place] >= number:
            return False
        came[place] = number
        return True

    def _remember(self, stream: tuple[ClientAddress, Instant]) -> array[int]:
        if len(self._came) >= MAX_STREAMS:
            del self._came[next(iter(self._came))]
        came = self._came[stream] = NEVER_CAME[:]
        return came
