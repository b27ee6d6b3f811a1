"""Quotas that were granted lately."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.datagram.laws.granted import GrantedRates


def test_a_growing_flow_is_read_at_its_present_quota() -> None:
    granted = GrantedRates()
    granted.add(10.0, 0)
    granted.add(20.0, SECOND)
    assert granted.present_rate(12.0, (0, SECOND), 0) == pytest.approx(22.0)
    assert granted.present_rate(5.0, (0, SECOND), 0) == pytest.approx(10.0)
    assert granted.present_rate(5.0, (-SECOND, SECOND), 0) == 5.0, "not known for the whole window"
