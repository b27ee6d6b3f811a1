"""Why a pubend is limited: the one decision that notices, ``why`` and telemetry report.

1. An alert may name a live edge that falls behind and an edge that is recovering.  The cause is the
   one for which the law moved the limit, so rule and cause belong together.
2. The bottleneck is the link on the way to that edge with the most queued bytes, as the alert
   carries it; empty if nothing is queued on the way.
3. The cause stays until another alert changes the limit, or the limit is removed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.services.guaranteed.laws.rate_law import Verdict


class ThrottleCause(msgspec.Struct, frozen=True):
    """The edge that does not keep up, and the fullest link on the way to it."""

    broker: str = ""
    link: str = ""
    link_bytes: int = 0
    rate: float = 0.0
    """The smoothed doubt-horizon rate of the edge, in tick seconds a second."""
    recovering: bool = False
    """Whether the edge is recovering; otherwise it is live and falls behind."""

    @property
    def sentence(self) -> str:
        """The cause for people; empty without a cause."""
        if not self.broker:
            return ""
        kind = "is recovering" if self.recovering else "falls behind"
        where = f"; link {self.link} has {self.link_bytes} bytes waiting" if self.link else ""
        return f"broker {self.broker} {kind} at {self.rate:.2f} ticks/tick{where}"


NO_CAUSE: Final = ThrottleCause()


def throttle_cause(verdict: Verdict | None) -> ThrottleCause:
    """The cause that a law's verdict names."""
    if verdict is None:
        return NO_CAUSE
    worst = verdict.worst
    return ThrottleCause(worst.edge, worst.link, worst.link_bytes, worst.rate, verdict.recovering)
