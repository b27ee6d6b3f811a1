"""The law of congestion control: one choice for pubends, edges and links.

1. A live edge alerts when its smoothed rate is below ``1 - nonrecovering_threshold`` (equation 6),
   or when it is more than ``lag_threshold_ns`` behind the pubend (equation 7).
2. A recovering edge alerts when its smoothed rate is below ``1 + recovering_threshold``
   (equation 8).  Under the improved law it answers every query, so that the pubend knows when the
   recovery is over.
3. The NACK window of a recovering edge is that of equation 10, or under the improved law one that
   holds a fixed amount in the network (``vegas_nack_window``).
4. Under the improved law links serve the pubends in turn, unless ``fair_links`` is off, a pubend
   publishes no more than the links of its own broker take (``link_backlog``), and relays keep the
   answers that pass them for other edges.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.core.clock import Duration
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.improved_rate_law import ImprovedRateLaw
from penstock.services.guaranteed.laws.nack_window import NackWindow, RecoveryNackWindow
from penstock.services.guaranteed.laws.paper_rate_law import PaperRateLaw
from penstock.services.guaranteed.laws.rate_law import PublicationRecord, RateLaw
from penstock.services.guaranteed.laws.vegas_nack_window import VegasNackWindow


class CongestionLaw(Protocol):
    """What differs between the laws."""

    @property
    def links_are_fair(self) -> bool:
        """Whether pubends take turns on a link."""
        ...

    @property
    def relays_keep_answers(self) -> bool:
        """Whether an answer that passes a relay serves other edges that recover."""
        ...

    @property
    def only_wanted_streams_alert(self) -> bool:
        """Whether an edge speaks only for streams of which it is given rows."""
        ...

    @property
    def repairs_are_congestion(self) -> bool:
        """Whether a live edge alerts for a gap behind which live data arrives in time."""
        ...

    def rate_law(self, record: PublicationRecord) -> RateLaw:
        """The rate law of one pubend, which has published ``record``."""
        ...

    def nack_window(self, *, unit: Duration, largest: Duration, largest_bytes: int) -> NackWindow:
        """The NACK window of one live stream, in units, no wider than the receive window.

        That one is ``largest`` ticks wide, and holds ``largest_bytes``.
        """
        ...

    def live_edge_alerts(self, rate: float, lag_ns: Duration) -> bool:
        """Whether a live edge with this smoothed rate and lag answers a query with an alert."""
        ...

    def recovering_edge_alerts(self, rate: float) -> bool:
        """Whether a recovering edge with this smoothed rate answers a query with an alert."""
        ...


class PaperCongestionLaw:
    """Equations 1 to 3 and 6 to 8; links are first in, first out."""

    links_are_fair = False
    relays_keep_answers = False
    only_wanted_streams_alert = False
    repairs_are_congestion = True

    def __init__(self, parameters: CongestionParameters) -> None:
        self._parameters = parameters

    def rate_law(self, record: PublicationRecord) -> RateLaw:
        return PaperRateLaw(self._parameters)

    def nack_window(self, *, unit: Duration, largest: Duration, largest_bytes: int) -> NackWindow:
        return RecoveryNackWindow(self._parameters, unit=unit, largest=largest)

    def live_edge_alerts(self, rate: float, lag_ns: Duration) -> bool:
        """Equations 6 and 7."""
        parameters = self._parameters
        slow = rate < 1 - parameters.nonrecovering_threshold
        return slow or lag_ns > parameters.lag_threshold_ns

    def recovering_edge_alerts(self, rate: float) -> bool:
        """Equation 8."""
        return rate < 1 + self._parameters.recovering_threshold


class ImprovedCongestionLaw:
    """Alerts of live edges as in the paper; the rest as the improved law needs it."""

    relays_keep_answers = True
    only_wanted_streams_alert = True
    repairs_are_congestion = False

    def __init__(self, parameters: CongestionParameters) -> None:
        self._parameters = parameters
        self._paper = PaperCongestionLaw(parameters)

    @property
    def links_are_fair(self) -> bool:
        return self._parameters.fair_links

    def rate_law(self, record: PublicationRecord) -> RateLaw:
        return ImprovedRateLaw(self._parameters, record)

    def nack_window(self, *, unit: Duration, largest: Duration, largest_bytes: int) -> NackWindow:
        return VegasNackWindow(
            self._parameters, unit=unit, largest=largest, largest_bytes=largest_bytes
        )

    def live_edge_alerts(self, rate: float, lag_ns: Duration) -> bool:
        return self._paper.live_edge_alerts(rate, lag_ns)

    def recovering_edge_alerts(self, rate: float) -> bool:
        return True


LAWS: Final[dict[str, type[PaperCongestionLaw] | type[ImprovedCongestionLaw]]] = {
    "paper": PaperCongestionLaw,
    "improved": ImprovedCongestionLaw,
}
"""By the name that ``congestion.law`` has in a configuration."""


def congestion_law(parameters: CongestionParameters) -> CongestionLaw:
    """The law that the parameters name."""
    return LAWS[parameters.law](parameters)
