"""Table 1 of the paper, and what cannot be set."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters


def test_the_defaults_are_those_of_table_1() -> None:
    """Δt_nonrec and Δt_rec are tick seconds a second, where the paper prints tickms."""
    table = CongestionParameters()

    assert table.no_alert_interval_ns == 2000 * MILLISECOND
    assert table.increase_min_msgs_per_s == 2
    assert table.increase_share == 0.05
    assert table.decrease == 0.5
    assert table.decrease_gentle == 0.25
    assert table.alpha == 0.1
    assert table.nonrecovering_threshold == 0.05
    assert table.recovering_threshold == 1.0
    assert table.lag_threshold_ns == 4 * SECOND
    assert table.nack_window_initial_ns == 100 * MILLISECOND
    assert table.nack_increase == 0.1
    assert table.nack_decrease == 0.3


@pytest.mark.parametrize(
    "wrong", [{"alpha": 1.5}, {"law": "none"}, {"query_interval_ns": 0}, {"speed": 1}]
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, CongestionParameters)
