"""When a broker whose machine raised starts again.

1. It starts again after a pause that doubles with each failure: most failures are met once, by one
   message, and the broker is back before its clients have given up.
2. A failure that comes back after each start would make the broker flap for ever, which helps
   nobody.  After ``MOST_FAILURES`` within ``WITHIN_S`` the process ends with the status
   ``FAILED_STATUS``, and whoever supervises it decides.
3. Failures that lie further back than ``WITHIN_S`` do not count.
"""

from __future__ import annotations

from collections import deque
from typing import Final

MOST_FAILURES: Final = 5
WITHIN_S: Final = 600.0
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0

FAILED_STATUS: Final = 70
"""The exit status of a broker that gave up: EX_SOFTWARE, an internal error."""


class Restarts:
    """The failures of one broker process."""

    def __init__(self) -> None:
        self._failed_at_s: deque[float] = deque(maxlen=MOST_FAILURES)

    def pause_s(self, now_s: float) -> float | None:
        """How long to wait after a failure at this time; None means to give up."""
        while self._failed_at_s and self._failed_at_s[0] <= now_s - WITHIN_S:
            self._failed_at_s.popleft()
        self._failed_at_s.append(now_s)
        count = len(self._failed_at_s)
        if count >= MOST_FAILURES:
            return None
        return min(FIRST_PAUSE_S * (1 << count - 1), LONGEST_PAUSE_S)
