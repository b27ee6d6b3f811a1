"""Where a subscription begins: what the caller may say, and what the protocol says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import msgspec

from penstock.client.guaranteed.message import EPOCH
from penstock.core.clock import MICROSECOND
from penstock.core.intervals import Tick

StartWish: TypeAlias = str | datetime | Mapping[str, Tick]
"""``"now"``, ``"earliest"``, a time, or a position for each pubend."""

NOW: Final = "now"
EARLIEST: Final = "earliest"
TIME: Final = "time"


class Start(msgspec.Struct, frozen=True):
    """The same as fields of ``Subscribe``: a rule, and positions that overrule it."""

    rule: str = NOW
    time: Tick = 0
    positions: dict[str, Tick] = msgspec.field(default_factory=dict)
    ends: dict[str, Tick] = msgspec.field(default_factory=dict)
    """Where the subscription ends on each pubend that it reads; empty if it has no end."""


def parse_start(wish: StartWish) -> Start:
    """Understand what the caller said; ``ValueError`` or ``TypeError`` says what is possible."""
    if isinstance(wish, str):
        if wish not in (NOW, EARLIEST):
            raise ValueError(
                f'start={wish!r}: use "now", "earliest", a datetime, or positions '
                "(a dictionary from pubend to tick)"
            )
        return Start(wish)
    if isinstance(wish, datetime):
        if wish.tzinfo is None:
            raise ValueError(
                f"start={wish!r} has no time zone; write wish.astimezone() for local time"
            )
        return Start(TIME, (wish - EPOCH) // timedelta(microseconds=1) * MICROSECOND)
    if isinstance(wish, Mapping):
        return Start(NOW, 0, dict(wish))
    raise TypeError(f"start is a string, a datetime or a mapping, not {type(wish).__name__}")
