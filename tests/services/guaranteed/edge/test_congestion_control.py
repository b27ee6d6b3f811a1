"""PDCC at an edge: equations 6, 7 and 8, and when an edge counts as recovering (Section 4)."""

from __future__ import annotations

import pytest

from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.edge.congestion_control import EdgeControl
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.laws.congestion_law import congestion_law
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import NackAnswer
from penstock.services.guaranteed.messages import DownstreamCongestionQuery, UpstreamCongestionAlert
from penstock.services.guaranteed.parameters import GuaranteedParameters

SAMPLE = 100 * MILLISECOND
WINDOW = 10 * SECOND


def edge(law: str = "paper") -> EdgeControl:
    congestion = CongestionParameters(law=law)  # type: ignore[arg-type]
    parameters = GuaranteedParameters(congestion=congestion)
    law_in_force = congestion_law(congestion)
    window = law_in_force.nack_window(
        unit=parameters.nack_unit_ns, largest=WINDOW, largest_bytes=1 << 30
    )
    stream = EdgeStream("p", "*", 0, window, parameters, receive_window=WINDOW)
    stream.rows_at = 3600 * SECOND  # Rows arrive all the time.
    return EdgeControl("sb", stream, congestion, law_in_force, silence_interval_ns=SECOND, now=0)


def query(position: int) -> DownstreamCongestionQuery:
    return DownstreamCongestionQuery("p", 7, 3, position)


def keep_pace(control: EdgeControl, rate: float, begin: int, end: int) -> None:
    """The horizon advances at a rate, sampled as the edge does it."""
    for now in range(begin + SAMPLE, end + 1, SAMPLE):
        low = control.stream.horizon
        control.stream.receive(Frame(low, low + round(rate * SAMPLE)), now)
        control.advanced(now)
        control.sample(now)


def fall_behind(control: EdgeControl, now: int) -> None:
    """Live knowledge arrives that the receive window has no room for."""
    control.stream.receive(Frame(now + WINDOW, now + WINDOW + 1), now)
    control.sample(now)


def test_an_edge_that_keeps_up_says_nothing() -> None:
    control = edge()
    keep_pace(control, 1.0, 0, 5 * SECOND)

    assert control.answer(query(5 * SECOND), 5 * SECOND) is None


@pytest.mark.parametrize(("rate", "alerts"), [(0.96, False), (0.94, True)])
def test_equation_6_a_live_edge_alerts_below_one_minus_the_threshold(
    rate: float, alerts: bool
) -> None:
    control = edge()
    keep_pace(control, rate, 0, 20 * SECOND)
    answer = control.answer(query(control.stream.horizon), 20 * SECOND)

    assert (answer is not None) is alerts


@pytest.mark.parametrize(("lag", "alerts"), [(4 * SECOND, False), (4 * SECOND + 1, True)])
def test_equation_7_with_its_sign_mended_a_live_edge_alerts_when_it_lags(
    lag: int, alerts: bool
) -> None:
    """m_SHB < m_pubend - Δt_s, where the paper prints a plus."""
    control = edge()
    keep_pace(control, 1.0, 0, 5 * SECOND)
    answer = control.answer(query(control.stream.horizon + lag), 5 * SECOND)

    assert (answer is not None) is alerts


@pytest.mark.parametrize(("rate", "alerts"), [(1.9, True), (2.2, False)])
def test_equation_8_a_recovering_edge_alerts_below_one_plus_the_threshold(
    rate: float, alerts: bool
) -> None:
    control = edge()
    fall_behind(control, SAMPLE)
    for now in range(2 * SAMPLE, 20 * SECOND, SAMPLE):
        keep_pace(control, rate, now - SAMPLE, now)
        control.stream.ignored_at = now
    answer = control.answer(query(100 * SECOND), 20 * SECOND)

    assert control.recovering
    assert (answer is not None) is alerts


def test_an_alert_carries_edge_rate_and_horizon() -> None:
    control = edge()
    keep_pace(control, 0.5, 0, 20 * SECOND)
    answer = control.answer(query(20 * SECOND), 20 * SECOND)

    assert isinstance(answer, UpstreamCongestionAlert)
    assert (answer.pubend, answer.epoch, answer.sequence) == ("p", 7, 3)
    assert answer.recovering is None
    worst = answer.nonrecovering
    assert worst is not None
    assert worst.edge == "sb"
    assert worst.rate == pytest.approx(0.5, abs=0.01)
    assert worst.latest_rate == pytest.approx(0.5)
    assert worst.horizon == control.stream.horizon


def test_an_edge_recovers_while_it_ignored_knowledge_within_two_seconds() -> None:
    control = edge()
    fall_behind(control, SAMPLE)
    assert control.recovering
    assert control.rate.smoothed == 0.0

    control.sample(SAMPLE + 2 * SECOND - 1)
    assert control.recovering

    control.sample(SAMPLE + 2 * SECOND)
    assert not control.recovering
    assert control.rate.smoothed == 1.0


def test_a_recovery_starts_with_the_initial_nack_window() -> None:
    control = edge()
    window = control.stream.window
    for now in range(SECOND, 6 * SECOND, SECOND):
        window.answered(NackAnswer(SAMPLE, 0, False, SECOND, now))
    assert window.size_ns > 100 * MILLISECOND

    fall_behind(control, SAMPLE)
    assert window.size_ns == 100 * MILLISECOND


def test_under_the_improved_law_a_recovering_edge_answers_every_query() -> None:
    control = edge("improved")
    fall_behind(control, SAMPLE)
    control.rate.restart(10.0)
    answer = control.answer(query(100 * SECOND), SAMPLE)

    assert answer is not None
    assert answer.nonrecovering is None
    assert answer.recovering is not None


def test_an_edge_does_not_alert_for_the_time_without_a_way_to_the_source() -> None:
    control = edge("improved")
    keep_pace(control, 1.0, 0, 5 * SECOND)
    for now in range(5 * SECOND, 12 * SECOND, SAMPLE):
        control.sample(now)
    control.path_changed()

    assert control.answer(query(12 * SECOND), 12 * SECOND) is None

    control.stream.receive(Frame(5 * SECOND, 5 * SECOND + 1), 12 * SECOND)
    assert control.answer(query(12 * SECOND), 12 * SECOND) is not None


@pytest.mark.parametrize(("law", "alerts"), [("paper", True), ("improved", False)])
def test_a_gap_behind_which_live_data_arrives_in_time_is_no_congestion(
    law: str, alerts: bool
) -> None:
    control = edge(law)
    keep_pace(control, 1.0, 0, 5 * SECOND)
    for now in range(6 * SECOND, 11 * SECOND, SAMPLE):
        control.stream.receive(Frame(now - SAMPLE, now), now)
        control.sample(now)
    assert (control.answer(query(11 * SECOND), 11 * SECOND) is not None) == alerts
    assert control.answer(query(16 * SECOND), 16 * SECOND) is not None, "live data is late as well"


def test_a_recovery_is_noticed_at_the_query_that_follows_it() -> None:
    """Live data that is ignored between two samples makes the edge recovering at once."""
    control = edge("improved")
    keep_pace(control, 1.0, 0, 5 * SECOND)
    control.stream.receive(Frame(50 * SECOND, 50 * SECOND + 1), 5 * SECOND)

    answer = control.answer(query(50 * SECOND), 5 * SECOND)

    assert answer is not None
    assert answer.nonrecovering is None


@pytest.mark.parametrize(
    ("late", "lag", "congested"),
    [(0, 60 * SECOND, False), (SECOND, 60 * SECOND, True), (SECOND, 2 * SECOND, False)],
)
def test_a_recovering_edge_says_whether_the_network_holds_it_up(
    late: int, lag: int, congested: bool
) -> None:
    """It limits itself while nothing waits on the way, and is as good as done near the end."""
    control = edge("improved")
    fall_behind(control, SAMPLE)
    window = control.stream.window
    for now, round_trip in ((SECOND, SAMPLE), (3 * SECOND, SAMPLE), (6 * SECOND, SAMPLE + late)):
        window.answered(NackAnswer(SAMPLE, 20_000, False, SAMPLE, now, round_trip))
    answer = control.answer(query(control.stream.horizon + lag), SAMPLE)

    assert answer is not None
    assert answer.recovering is not None
    assert answer.recovering.congested is congested


@pytest.mark.parametrize(("law", "alerts"), [("paper", True), ("improved", False)])
@pytest.mark.parametrize("rows_at", [None, 0])
def test_under_the_improved_law_an_edge_is_silent_about_what_nobody_there_wants(
    law: str, alerts: bool, rows_at: int | None
) -> None:
    control = edge(law)
    control.stream.rows_at = rows_at
    keep_pace(control, 0.5, 0, 11 * SECOND)

    assert (control.answer(query(11 * SECOND), 11 * SECOND) is not None) == alerts
