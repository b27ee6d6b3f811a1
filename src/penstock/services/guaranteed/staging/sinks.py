"""The sinks of a broker: the last epoch of each, and the decision that is being published.

The state of a sink is what makes a repeated epoch harmless, so it is never dropped to make room:

1. At most ``sink_limit`` sinks are remembered; then further ones are refused until an operator
   deletes those that are retired (``sink_administration``).
2. A sink that is used once (a batch write of Spark without a name) takes none of these places.
   After its commit nobody can repeat its epoch, because its name and its stages are gone; it is
   remembered only for a client that lost the answer and asks again.  The last ``ONCE_LIMIT`` are.
3. The state is saved with the instant of the last use, so that their order survives a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

import msgspec

from penstock.core.machine import PersistState
from penstock.services.guaranteed.staging.staged_epoch import SINK_PREFIX, Decision, SinkState

ONCE_LIMIT: Final = 1_000
"""More commits than a broker confirms while a client connects again."""


class Sinks:
    """The states of all sinks, the one that committed longest ago first."""

    def __init__(self, limit: int, saved: Mapping[str, bytes]) -> None:
        self.limit = limit
        self._kept: OrderedDict[str, SinkState] = OrderedDict()
        self._once: OrderedDict[str, SinkState] = OrderedDict()
        loaded = [
            (key.removeprefix(SINK_PREFIX), msgspec.msgpack.decode(value, type=SinkState))
            for key, value in sorted(saved.items())
            if key.startswith(SINK_PREFIX)
        ]
        for name, state in sorted(loaded, key=lambda each: each[1].used_at):
            self._table(state)[name] = state

    def __len__(self) -> int:
        """How many sinks take a place of the limit."""
        return len(self._kept)

    def __contains__(self, sink: str) -> bool:
        return sink in self._kept or sink in self._once

    def state(self, sink: str) -> SinkState:
        return self._kept.get(sink) or self._once.get(sink) or SinkState()

    def is_decided(self, sink: str, epoch: int) -> bool:
        """Whether an epoch was decided, published or not."""
        return self.state(sink).covers(epoch)

    def is_full(self, arriving: int) -> bool:
        """Whether there is no place for another sink besides ``arriving`` new ones."""
        return len(self._kept) + arriving >= self.limit

    def listed(self) -> Iterator[tuple[str, SinkState]]:
        """The sinks that take a place, the one that was unused for longest first."""
        yield from self._kept.items()

    def unfinished(self) -> Iterator[tuple[str, Decision]]:
        """The decisions that are not published completely."""
        for sink, state in chain(self._kept.items(), self._once.items()):
            if state.decision is not None:
                yield sink, state.decision

    def decided(self, sink: str, state: SinkState) -> None:
        """A state with a decision is saved."""
        self._table(state)[sink] = state

    def finished(self, sink: str, state: SinkState) -> None:
        """An epoch is published, and that is saved."""
        table = self._table(state)
        table[sink] = state
        table.move_to_end(sink)

    def deleted(self, sink: str) -> None:
        """A sink was deleted, and that is saved."""
        self._kept.pop(sink, None)
        self._once.pop(sink, None)

    def save(self, token: int, sink: str, state: SinkState) -> PersistState:
        """Order a sink's state to be saved; drop the oldest one that is used once, if due."""
        values: dict[str, bytes | None] = {SINK_PREFIX + sink: msgspec.msgpack.encode(state)}
        if state.once and sink not in self and len(self._once) >= ONCE_LIMIT:
            done = (name for name, each in self._once.items() if each.decision is None)
            oldest = next(done, None)
            if oldest is not None:
                del self._once[oldest]
                values[SINK_PREFIX + oldest] = None
        return PersistState(token, values)

    def _table(self, state: SinkState) -> OrderedDict[str, SinkState]:
        return self._once if state.once else self._kept
