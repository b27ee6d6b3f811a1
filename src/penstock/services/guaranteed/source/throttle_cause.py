"""Why a pubend is limited: the one decision that notices, ``why`` and telemetry report.

1. An alert may name a live edge that falls behind and an edge that is recovering.  The cause is the
   one for which the law moved the limit, so rule and cause belong together.
2. The bottleneck is the link on the way to that edge with the most queued bytes, as the alert
   carries it; empty if nothing is queued on the way.
3. When the limit rises because no edge complains any more, the cause is in the past: the edge is
   named with the time since its last alert, and no link is blamed.
4. If publications wait for a link of their own broker (``link_gate``), that link is the cause.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.clock import Duration, in_seconds
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
    link_bytes_per_s: float = 0.0
    """What the link of this broker that is full takes of the pubend; 0 for another cause."""
    quiet_ns: Duration = 0
    """How long ago the edge complained last; 0 while it does."""

    @property
    def sentence(self) -> str:
        """The cause for people; empty without a cause."""
        if self.link_bytes_per_s:
            return (
                f"link {self.link} is full: it takes "
                f"{_kilobytes(self.link_bytes_per_s)}/s of this pubend, and "
                f"{_kilobytes(self.link_bytes)} wait"
            )
        if not self.broker:
            return ""
        if self.quiet_ns:
            did = "was catching up" if self.recovering else "fell behind"
            return (
                f"broker {self.broker} {did} until {in_seconds(self.quiet_ns):.0f} s ago; nothing "
                "is congested now"
            )
        where = f"; {_kilobytes(self.link_bytes)} wait on link {self.link}" if self.link else ""
        if self.recovering:
            return f"broker {self.broker} catches up at {self.rate:.2g} times live speed{where}"
        return (
            f"broker {self.broker} falls behind: in a second it gets {self.rate:.2f} s of the "
            f"stream{where}"
        )

    def past(self, quiet_ns: Duration) -> ThrottleCause:
        """The same edge, which does not complain any more."""
        return msgspec.structs.replace(
            self, link="", link_bytes=0, link_bytes_per_s=0.0, quiet_ns=max(1, quiet_ns)
        )


NO_CAUSE: Final = ThrottleCause()


def throttle_cause(verdict: Verdict | None) -> ThrottleCause:
    """The cause that a law's verdict names."""
    if verdict is None:
        return NO_CAUSE
    worst = verdict.worst
    return ThrottleCause(worst.edge, worst.link, worst.link_bytes, worst.rate, verdict.recovering)


def _kilobytes(count_bytes: float) -> str:
    if count_bytes < 10_000:
        return f"{count_bytes / 1000:.1f} kB"
    return f"{count_bytes / 1000:.0f} kB"
