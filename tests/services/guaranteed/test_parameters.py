"""The service's parameters: Table 1, and relations that must hold between them."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.clock import MILLISECOND
from penstock.services.guaranteed.parameters import GuaranteedParameters


def test_the_defaults_of_table_1() -> None:
    table = GuaranteedParameters()

    assert table.silence_interval_ns == 1000 * MILLISECOND
    assert table.nack_unit_ns == 100 * MILLISECOND


def test_the_receive_window_exceeds_the_lag_that_raises_an_alert() -> None:
    """Otherwise an edge would always be recovering before it could say that it lags."""
    table = GuaranteedParameters()

    assert table.receive_window_ns > table.congestion.lag_threshold_ns


def test_a_relay_lets_a_repeated_request_pass() -> None:
    table = GuaranteedParameters()

    assert table.nack_suppression_ns < table.nack_timeout_min_ns


@pytest.mark.parametrize("wrong", [{"answer_bytes": 0}, {"unknown": 1}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, GuaranteedParameters)
