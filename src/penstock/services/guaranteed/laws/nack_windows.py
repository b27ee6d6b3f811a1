"""Which NACK window a stream of an edge gets: with SDCC or without (``congestion.sdcc``).

1. A live stream has the window of SDCC (Section 3.2) under the law that is chosen; without SDCC it
   asks for everything that fits its receive window.
2. A subscriber that starts in the past and will join the live stream has a ``CatchUpWindow``.
3. A subscriber that was live and fell behind is paced like a reader of intervals, unless its broker
   hosts the pubend: then no link has to carry the answers, and a ``CatchUpWindow`` is enough.
4. A reader of intervals has a ``ReadWindow``; without SDCC it asks for the whole interval.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.clock import Duration
from penstock.services.guaranteed.laws.congestion_law import congestion_law
from penstock.services.guaranteed.laws.nack_window import (
    MAX_UNITS,
    CatchUpWindow,
    FixedNackWindow,
    NackWindow,
)
from penstock.services.guaranteed.laws.read_window import PIECES, SMALLEST_SPAN, ReadWindow
from penstock.services.guaranteed.parameters import GuaranteedParameters


class Pacing(NamedTuple):
    """A window, and the pieces in which it is requested."""

    window: NackWindow
    unit_ns: Duration | None = None
    """The smallest piece; None for ``nack_unit_ns``."""
    most_units: int = MAX_UNITS


class NackWindows:
    """Chooses the window of each stream of one edge."""

    def __init__(self, parameters: GuaranteedParameters) -> None:
        self._parameters = parameters
        self._sdcc: Final = parameters.congestion.sdcc

    def live(self) -> Pacing:
        parameters = self._parameters
        if not self._sdcc:
            return Pacing(FixedNackWindow(parameters.receive_window_ns))
        law = congestion_law(parameters.congestion)
        return Pacing(
            law.nack_window(
                unit=parameters.nack_unit_ns,
                largest=parameters.receive_window_ns,
                largest_bytes=parameters.receive_window_bytes,
            )
        )

    def catch_up(self) -> Pacing:
        return Pacing(CatchUpWindow(self._parameters.answer_bytes))

    def fallen_behind(self, *, hosted_here: bool) -> Pacing:
        if hosted_here:
            return Pacing(CatchUpWindow(self._parameters.local_answer_bytes, paced=False))
        if not self._sdcc:
            return self.catch_up()
        return Pacing(ReadWindow(self._parameters.answer_bytes), SMALLEST_SPAN, PIECES)

    def interval(self, length: Duration, *, hosted_here: bool) -> Pacing:
        parameters = self._parameters
        window: NackWindow
        if not self._sdcc:
            window = FixedNackWindow(length)
        elif hosted_here:
            window = ReadWindow(parameters.local_answer_bytes, paced=False)
        else:
            window = ReadWindow(parameters.answer_bytes)
        return Pacing(window, SMALLEST_SPAN, PIECES)
