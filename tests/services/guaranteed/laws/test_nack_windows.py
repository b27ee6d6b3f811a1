from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import (
    MAX_UNITS,
    CatchUpWindow,
    FixedNackWindow,
    RecoveryNackWindow,
)
from penstock.services.guaranteed.laws.nack_windows import NackWindows
from penstock.services.guaranteed.laws.read_window import PIECES, ReadWindow
from penstock.services.guaranteed.laws.vegas_nack_window import VegasNackWindow
from penstock.services.guaranteed.parameters import GuaranteedParameters


def windows(*, sdcc: bool, law: str = "improved") -> NackWindows:
    congestion = CongestionParameters(sdcc=sdcc, law=law)  # type: ignore[arg-type]
    return NackWindows(GuaranteedParameters(congestion=congestion))


def test_a_live_stream_is_paced_by_sdcc() -> None:
    assert isinstance(windows(sdcc=True, law="paper").live().window, RecoveryNackWindow)
    assert isinstance(windows(sdcc=True).live().window, VegasNackWindow)
    unpaced = windows(sdcc=False).live().window
    assert isinstance(unpaced, FixedNackWindow)
    assert unpaced.size_ns == GuaranteedParameters().receive_window_ns


@pytest.mark.parametrize("sdcc", [True, False])
def test_catching_up_has_the_same_window_with_and_without_sdcc(sdcc: bool) -> None:
    pacing = windows(sdcc=sdcc).catch_up()

    assert isinstance(pacing.window, CatchUpWindow)
    assert (pacing.unit_ns, pacing.most_units) == (None, MAX_UNITS)


def test_a_subscriber_that_fell_behind_is_paced_unless_its_broker_hosts_the_pubend() -> None:
    paced = windows(sdcc=True).fallen_behind(hosted_here=False)
    here = windows(sdcc=True).fallen_behind(hosted_here=True)

    assert isinstance(paced.window, ReadWindow)
    assert paced.most_units == PIECES
    assert isinstance(here.window, CatchUpWindow)
    assert here.window.piece_bytes == GuaranteedParameters().local_answer_bytes
    assert isinstance(windows(sdcc=False).fallen_behind(hosted_here=False).window, CatchUpWindow)


def test_a_reader_of_an_interval_without_sdcc_requests_all_of_it() -> None:
    assert windows(sdcc=False).interval(7 * SECOND, hosted_here=False).window.size_ns == 7 * SECOND
    assert isinstance(windows(sdcc=True).interval(SECOND, hosted_here=True).window, ReadWindow)
