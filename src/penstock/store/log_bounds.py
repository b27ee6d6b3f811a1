"""What a restarting broker is told of its logs, the same in both worlds."""

from __future__ import annotations

from typing import Any

from penstock.core.intervals import Tick
from penstock.store.interface import LogStore


def recovered_logs(store: LogStore[Any, Any]) -> dict[str, tuple[Tick, Tick, int]]:
    """First tick, end and size of each log that something was ever written to.

    A log that was never trimmed begins with its first record: below that nothing was ever said, so
    that readers need not ask for it.  A log without an end was created by an append that never
    became durable.
    """
    found = {}
    for name in store.log_names():
        bounds = store.bounds(name)
        if not bounds.end_high:
            continue
        beginning = store.read(name, bounds.first_low, bounds.end_high, 0)
        lows = [record.low for record in beginning.records]
        lows += [low for low, _ in beginning.lost]
        first = max(bounds.first_low, min(lows, default=bounds.first_low))
        found[name] = (first, bounds.end_high, bounds.stored_bytes)
    return found
