"""When publications fall due."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from penstock.core.clock import SECOND, seconds
from penstock.lab.scenario.curve import Curve, CurvePoint
from penstock.lab.workloads.gossip.offers import OfferTimes


def due(rate: Curve, *, stop_s: float = 10.0, now_s: float = 0.0) -> list[float]:
    began_at = 7 * SECOND
    offers = OfferTimes(
        rate,
        Random(1),
        began_at=began_at,
        now=began_at + seconds(now_s),
        stop_at=began_at + seconds(stop_s),
    )
    found = []
    while offers.next_at is not None:
        found.append((offers.next_at - began_at) / SECOND)
        offers.advance()
    return found


def points(*pairs: tuple[float, float]) -> Curve:
    return tuple(CurvePoint(*pair) for pair in pairs)


def test_an_even_rate_has_even_offers_after_a_random_phase() -> None:
    found = due(4.0)
    assert 0 < found[0] < 0.25
    assert len(found) == 40
    assert [after - before for before, after in pairwise(found)] == (pytest.approx([0.25] * 39))


def test_a_rate_of_zero_offers_nothing() -> None:
    assert due(0.0) == []
    assert due(points((0, 0), (3, 0))) == []


def test_a_rate_that_ends_offers_nothing_more() -> None:
    found = due(points((0, 10), (2, 10), (4, 0)), stop_s=100.0)
    assert len(found) == 30, "20 in two seconds, and half as many while the rate falls"
    assert found[-1] < 4


def test_a_rate_that_begins_later_offers_nothing_before() -> None:
    found = due(points((0, 0), (5, 0), (5.001, 10)))
    assert found[0] > 5
    assert len(found) in (49, 50)


def test_offers_begin_when_the_peer_starts() -> None:
    found = due(points((0, 10), (10, 0)), now_s=5.0)
    assert found[0] > 5
    assert len(found) in (12, 13)
