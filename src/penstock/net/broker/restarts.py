"""Decides when a broker restarts after its machine raised, and when it gives up.

The pauses follow ``LimitedBackOff``.  When the broker gives up, the process ends with
``FAILED_STATUS`` and its supervisor decides.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import SECOND, Duration
from penstock.mechanisms.back_off import LimitedBackOff

MOST_FAILURES: Final = 5
WITHIN: Final[Duration] = 600 * SECOND
"""Five failures in ten minutes are treated as one failure that recurs after each start."""

FIRST_PAUSE: Final[Duration] = SECOND // 2
"""Short enough that the broker is back before its clients give up."""

LONGEST_PAUSE: Final[Duration] = 30 * SECOND
"""A bound for other values of the constants above; the present values never reach it."""

FAILED_STATUS: Final = 70
"""The exit status of a broker that gave up: EX_SOFTWARE, an internal error."""


def restart_back_off() -> LimitedBackOff:
    """The pauses between the starts of one broker process."""
    return LimitedBackOff(
        first=FIRST_PAUSE, longest=LONGEST_PAUSE, most_failures=MOST_FAILURES, within=WITHIN
    )
