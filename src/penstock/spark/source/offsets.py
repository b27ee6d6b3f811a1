"""Offsets of a streaming query: exclusive next-ticks, with the resolved start in every offset.

1. ``next`` is, for each pubend, the first unread tick: a micro-batch is the interval from one
   offset's ``next`` to the other's, and reading it again gives the same rows.
2. Spark asks for the initial offset more than once: twice on a fresh start, and again when batch 0
   is repeated after a crash.  With "latest" and a moving head the answers differ, and the rows
   between them would be lost.  Every offset therefore carries ``start``, the position at which the
   query really began, and a batch whose first offset is an initial one begins at the ``start`` of
   its end.
3. ``hosts`` names the broker of each pubend.  A pubend lives on one broker's disk, so the pair is
   the identity of a stream: a checkpoint that names another host belongs to another stream.
4. A pubend that appears later is read from the beginning of its log, but not from before the
   query's starting time; that position is its entry in ``start``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.core.intervals import Tick
from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.source.options import (
    EARLIEST,
    EARLIEST_TICK,
    LATEST_TICK,
    BadOption,
    Place,
)


class WrongCheckpoint(ValueError):
    """The checkpoint is not one of this source, or names other streams than the present ones."""


class DataLost(RuntimeError):
    """Ticks that the query still had to read are no longer stored."""


class StreamAway(RuntimeError):
    """A query that reads everything now cannot reach one of its streams."""


class StreamOffset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One offset of a streaming query."""

    next: dict[str, Tick]
    start: dict[str, Tick]
    hosts: dict[str, str]
    initial: bool = False

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> StreamOffset:
        """Parse an offset that Spark stored; raises ``WrongCheckpoint``."""
        try:
            return msgspec.convert(dict(document), StreamOffset)
        except msgspec.ValidationError as error:
            raise WrongCheckpoint(
                f"the checkpoint holds an offset that is not one of the penstock source ({error}); "
                "give the query a checkpointLocation of its own"
            ) from None

    def to_json(self) -> dict[str, Any]:
        """The form that Spark stores; the same offset always gives the same text."""
        return {
            "next": dict(sorted(self.next.items())),
            "start": dict(sorted(self.start.items())),
            "hosts": dict(sorted(self.hosts.items())),
            "initial": self.initial,
        }

    def lows(self, end: StreamOffset) -> dict[str, Tick]:
        """The beginning, for each of its pubends, of the batch that ends at ``end``."""
        if self.initial:
            return dict(end.start)
        return {pubend: self.next.get(pubend, end.start[pubend]) for pubend in end.next}

    def with_new(
        self, streams: Mapping[str, StreamBounds], not_before: Tick | None = None
    ) -> StreamOffset:
        """This offset with the pubends that have appeared since, each at its beginning."""
        new = {pubend: bounds for pubend, bounds in streams.items() if pubend not in self.next}
        if not new:
            return self
        begins = {pubend: max(bounds.earliest, not_before or 0) for pubend, bounds in new.items()}
        hosts = {pubend: bounds.broker for pubend, bounds in new.items()}
        return StreamOffset(
            {**self.next, **begins}, {**self.start, **begins}, {**self.hosts, **hosts}, self.initial
        )

    def check_identity(self, streams: Mapping[str, StreamBounds]) -> None:
        """Raises ``WrongCheckpoint`` if these are other streams than the checkpoint's.

        A pubend whose broker is unreachable is missing here; the query waits for it.
        """
        if self.next and not self.next.keys() & streams.keys():
            raise WrongCheckpoint(
                f"the checkpoint is for the pubends {_list(self.next)}, and none of them is here "
                f"(here: {_list(streams)}); it belongs to another overlay, or to other options"
            )
        for pubend, host in sorted(self.hosts.items()):
            bounds = streams.get(pubend)
            if bounds is not None and bounds.broker != host:
                raise WrongCheckpoint(
                    f"the checkpoint is for pubend {pubend!r} of broker {host!r}; here the pubend "
                    f"is hosted by {bounds.broker!r}, which is another stream: give the query a "
                    "checkpointLocation of its own"
                )

    def check_complete(self, streams: Mapping[str, StreamBounds]) -> None:
        """Raises ``StreamAway`` if a pubend of this offset cannot be read now."""
        for pubend in sorted(self.next.keys() - streams.keys()):
            raise StreamAway(
                f"pubend {pubend!r} of broker {self.hosts.get(pubend, 'unknown')!r} cannot be "
                "reached, and a query with availableNow would end without its messages; start the "
                "query again when the broker is back, or set failOnDataLoss to false to end "
                "without them"
            )

    def check_kept(self, streams: Mapping[str, StreamBounds]) -> None:
        """Raises ``DataLost`` if ticks at or after this offset are no longer stored."""
        for pubend, tick in sorted(self.next.items()):
            bounds = streams.get(pubend)
            if bounds is not None and tick < bounds.earliest:
                raise DataLost(
                    f"pubend {pubend!r}: the query has read up to tick {tick}, but the log begins "
                    f"at {bounds.earliest}: the ticks between were trimmed before they were read; "
                    "set failOnDataLoss to false to continue without them, and the option cursor "
                    "to keep the log for this query"
                )


def resolve(place: Place, streams: Mapping[str, StreamBounds], name: str) -> dict[str, Tick]:
    """A tick for each pubend; ``name`` is the option, for errors.

    A time may be ahead of a stream: the stream will reach it.  Pubends for which the place has no
    tick are at its word, earliest or latest.
    """
    unknown = sorted(place.ticks.keys() - streams.keys())
    if unknown:
        raise BadOption(f"option {name}: there is no pubend {unknown[0]!r} ({_list(streams)})")
    found: dict[str, Tick] = {}
    for pubend, bounds in streams.items():
        tick = place.ticks.get(pubend)
        if tick is not None and tick not in (EARLIEST_TICK, LATEST_TICK):
            found[pubend] = tick
        elif tick is not None:
            found[pubend] = bounds.earliest if tick == EARLIEST_TICK else bounds.head
        elif place.time is not None:
            found[pubend] = max(place.time, bounds.earliest)
        else:
            found[pubend] = bounds.earliest if place.word == EARLIEST else bounds.head
    return found


def _list(pubends: Mapping[str, object]) -> str:
    return ", ".join(sorted(pubends)) or "none"
