"""The sinks of a broker: the last epoch of each, and the decision that is being published.

The state of a sink is saved.  At most ``sink_limit`` sinks are remembered: the one that committed
longest ago makes room, but never one with a decision that is not published yet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping

import msgspec

from penstock.core.machine import PersistState
from penstock.services.guaranteed.staging.staged_epoch import SINK_PREFIX, Decision, SinkState


class Sinks:
    """The states of all sinks, the one that committed longest ago first."""

    def __init__(self, limit: int, saved: Mapping[str, bytes]) -> None:
        self._limit = limit
        self._states: OrderedDict[str, SinkState] = OrderedDict(
            (key.removeprefix(SINK_PREFIX), msgspec.msgpack.decode(value, type=SinkState))
            for key, value in sorted(saved.items())
            if key.startswith(SINK_PREFIX)
        )

    def state(self, sink: str) -> SinkState:
        return self._states.get(sink, SinkState())

    def is_decided(self, sink: str, epoch: int) -> bool:
        """Whether an epoch was decided, published or not."""
        return self.state(sink).covers(epoch)

    def unfinished(self) -> Iterator[tuple[str, Decision]]:
        """The decisions that are not published completely."""
        for sink, state in self._states.items():
            if state.decision is not None:
                yield sink, state.decision

    def decided(self, sink: str, decision: Decision) -> None:
        """A decision is saved."""
        self._states[sink] = msgspec.structs.replace(self.state(sink), decision=decision)

    def finished(self, sink: str, state: SinkState) -> None:
        """An epoch is published, and that is saved."""
        self._states[sink] = state
        self._states.move_to_end(sink)

    def save(self, token: int, sink: str, state: SinkState) -> PersistState:
        """Order a sink's state to be saved; forget another sink if there are too many."""
        values: dict[str, bytes | None] = {SINK_PREFIX + sink: msgspec.msgpack.encode(state)}
        if sink not in self._states and len(self._states) >= self._limit:
            idle = (name for name, each in self._states.items() if each.decision is None)
            idlest = next(idle, None)
            if idlest is not None:
                del self._states[idlest]
                values[SINK_PREFIX + idlest] = None
        return PersistState(token, values)
