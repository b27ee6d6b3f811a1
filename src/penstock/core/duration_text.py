"""Durations as people write them: ``500ms``, ``30s``, ``15 minutes``, ``1h``, ``90d``."""

from __future__ import annotations

import re
from typing import Final

from penstock.core.clock import HOUR, MILLISECOND, MINUTE, SECOND, Duration

_UNITS: Final[dict[str, Duration]] = {
    "ms": MILLISECOND,
    "millisecond": MILLISECOND,
    "s": SECOND,
    "second": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "minute": MINUTE,
    "h": HOUR,
    "hour": HOUR,
    "d": 24 * HOUR,
    "day": 24 * HOUR,
}
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def parse_duration(text: str) -> Duration:
    """The duration; raises ``ValueError``."""
    found = _DURATION.fullmatch(text)
    name = found[2].lower() if found is not None else ""
    unit = _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))
    if found is None or unit is None:
        raise ValueError("use a duration like 500ms, 30s, 15m, 1h or 90d")
    return round(float(found[1]) * unit)
