"""What differs between the laws: answers of edges (equations 6 to 8), rate laws, fair links."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from penstock.core.clock import SECOND
from penstock.mechanisms.rate_meter import RateHistory
from penstock.services.guaranteed.laws.congestion_law import LAWS, CongestionLaw, congestion_law
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.improved_rate_law import ImprovedRateLaw
from penstock.services.guaranteed.laws.paper_rate_law import PaperRateLaw

BOTH = pytest.mark.parametrize("name", sorted(LAWS))


def law(name: str, **changes: object) -> CongestionLaw:
    return congestion_law(CongestionParameters(**{"law": name, **changes}))  # type: ignore[arg-type]


def test_every_law_that_can_be_configured_exists() -> None:
    assert set(get_args(get_type_hints(CongestionParameters)["law"])) == set(LAWS)


@BOTH
def test_equation_6_a_live_edge_alerts_below_one_minus_the_threshold(name: str) -> None:
    assert law(name).live_edge_alerts(0.94, 0)
    assert not law(name).live_edge_alerts(0.96, 0)


@BOTH
def test_equation_7_a_live_edge_alerts_when_it_lags(name: str) -> None:
    assert law(name).live_edge_alerts(1.0, 4 * SECOND + 1)
    assert not law(name).live_edge_alerts(1.0, 4 * SECOND)


def test_equation_8_a_recovering_edge_alerts_below_one_plus_the_threshold() -> None:
    assert law("paper").recovering_edge_alerts(1.9)
    assert not law("paper").recovering_edge_alerts(2.0)


def test_under_the_improved_law_a_recovering_edge_always_alerts() -> None:
    assert law("improved").recovering_edge_alerts(10.0)


def test_each_law_has_its_rate_law() -> None:
    record = RateHistory()
    assert isinstance(law("paper").rate_law(record), PaperRateLaw)
    assert isinstance(law("improved").rate_law(record), ImprovedRateLaw)


def test_fair_links_belong_to_the_improved_law() -> None:
    assert law("improved").links_are_fair
    assert not law("paper").links_are_fair
    assert not law("improved", fair_links=False).links_are_fair
