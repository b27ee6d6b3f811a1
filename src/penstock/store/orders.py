"""What waits for the commit thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from penstock.core.intervals import Tick
from penstock.store.interface import LogName, Token
from penstock.store.segments.framing import Chunk

STATE_CHANGE_OVERHEAD_BYTES: Final = 64
"""What a state change counts for besides its keys and values, so that empty ones are bounded."""


class Append(msgspec.Struct, frozen=True, gc=False):
    """A record on its way into a log.

    ``epoch`` is the log's when the record was accepted, ``length`` that of the data, and
    ``size_bytes`` the room that it takes in a segment.  A ``note`` may use the room that is kept
    free on the disk (penstock.store.segments.segment).
    """

    token: Token
    log: LogName
    epoch: int
    low: Tick
    high: Tick
    chunks: Sequence[Chunk]
    length: int
    size_bytes: int
    note: bool = False


class StateChange(msgspec.Struct, frozen=True, gc=False):
    """Values on their way into the state database."""

    token: Token
    values: dict[str, bytes | None]
    size_bytes: int


Order: TypeAlias = Append | StateChange


def state_change(token: Token, values: dict[str, bytes | None]) -> StateChange:
    """A state change, with its size."""
    size_bytes = STATE_CHANGE_OVERHEAD_BYTES + sum(
        len(key) + len(value or b"") for key, value in values.items()
    )
    return StateChange(token=token, values=dict(values), size_bytes=size_bytes)
