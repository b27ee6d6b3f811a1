"""What a relay does with the alerts of several children (Fig. 5, corrected).

1. The first alert that answers a query goes up at once, so that new congestion is heard quickly.
2. A later alert for the same query goes up only if it tells of a lower rate than went up before;
   the paper's text would save it for the next query instead, where it passes for fresh news and
   makes the pubend slow down twice.
3. An alert for an older query, or with nothing in it, goes nowhere.
4. A pubend that was started anew counts its queries anew: its epoch tells.
"""

from __future__ import annotations

import msgspec

from penstock.services.guaranteed.laws.paper_rate_law import AlertReading
from penstock.services.guaranteed.messages import UpstreamCongestionAlert


class AlertAggregation:
    """The alerts of one stream at one relay."""

    __slots__ = ("_epoch", "_nonrecovering", "_recovering", "_sequence")

    def __init__(self) -> None:
        """Nothing went up yet."""
        self._epoch = 0
        self._sequence = -1
        self._nonrecovering: AlertReading | None = None
        self._recovering: AlertReading | None = None

    def pass_up(self, alert: UpstreamCongestionAlert) -> UpstreamCongestionAlert | None:
        """What goes up because of this alert, if anything."""
        if alert.nonrecovering is None and alert.recovering is None:
            return None
        position = (alert.epoch, alert.sequence)
        if position < (self._epoch, self._sequence):
            return None
        if position > (self._epoch, self._sequence):
            self._epoch, self._sequence = position
            self._nonrecovering = self._recovering = None
        nonrecovering = lower(self._nonrecovering, alert.nonrecovering)
        recovering = lower(self._recovering, alert.recovering)
        if nonrecovering is self._nonrecovering and recovering is self._recovering:
            return None
        self._nonrecovering, self._recovering = nonrecovering, recovering
        return UpstreamCongestionAlert(
            alert.pubend, alert.epoch, alert.sequence, nonrecovering, recovering
        )


def lower(known: AlertReading | None, heard: AlertReading | None) -> AlertReading | None:
    """The worse of two readings; the known one if they are alike."""
    if known is None or heard is None:
        return heard if known is None else known
    return heard if heard.rate < known.rate else known


def blaming(
    alert: UpstreamCongestionAlert, link: str, queued_bytes: int
) -> UpstreamCongestionAlert:
    """The alert, naming this link as the bottleneck if more waits on it than on those below."""
    return UpstreamCongestionAlert(
        alert.pubend,
        alert.epoch,
        alert.sequence,
        _blaming(alert.nonrecovering, link, queued_bytes),
        _blaming(alert.recovering, link, queued_bytes),
    )


def _blaming(reading: AlertReading | None, link: str, queued_bytes: int) -> AlertReading | None:
    if reading is None or queued_bytes <= reading.link_bytes:
        return reading
    return msgspec.structs.replace(reading, link=link, link_bytes=queued_bytes)
