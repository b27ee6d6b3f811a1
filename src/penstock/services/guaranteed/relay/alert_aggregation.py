"""How a relay aggregates the alerts of its children (Fig. 5, corrected).

1. The first alert that answers a query goes up at once, so that the pubend learns of new congestion
   quickly.
2. A later alert for the same query goes up only if it carries a lower rate than went up before.
   An edge that the network holds up counts as slower than one that limits itself.
   The paper's text would save it for the next query instead, where it looks like new congestion and
   makes the pubend slow down twice.
3. An alert for an older query, or an empty one, is dropped.
4. A pubend numbers its queries from 0 after every start; its epoch tells the starts apart.
"""

from __future__ import annotations

import msgspec

from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import UpstreamCongestionAlert


class AlertAggregation:
    """The alerts of one stream at one relay."""

    __slots__ = ("_epoch", "_nonrecovering", "_recovering", "_sequence")

    def __init__(self) -> None:
        self._epoch = 0
        self._sequence = -1
        self._nonrecovering: AlertReading | None = None
        self._recovering: AlertReading | None = None

    def pass_up(self, alert: UpstreamCongestionAlert) -> UpstreamCongestionAlert | None:
        """The alert to send up because of this one, if any."""
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
    """The reading with the lower rate, of those that the network holds up if there is one.

    The known one if both are equal.
    """
    if known is None or heard is None:
        return heard if known is None else known
    worse = (not heard.congested, heard.rate) < (not known.congested, known.rate)
    return heard if worse else known


def blaming(
    alert: UpstreamCongestionAlert, link: str, queued_bytes: int
) -> UpstreamCongestionAlert:
    """The alert with this link as the bottleneck, if it has more queued bytes than those below."""
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
