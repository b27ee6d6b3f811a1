"""The paper's rate law: Section 3.1, equations 1 to 3, as the module settles their open points."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.paper_rate_law import PaperRateLaw
from penstock.services.guaranteed.laws.rate_law import AlertReading, Reading, Rule

T_NOUCA = 2 * SECOND


def reading(
    sequence: int, nonrecovering: float | None = None, recovering: float | None = None
) -> Reading:
    def edge(rate: float | None) -> AlertReading | None:
        return None if rate is None else AlertReading(rate, "edge", rate, 0)

    return Reading(sequence, edge(nonrecovering), edge(recovering))


class Pubend:
    """A pubend whose publishers take all that is allowed."""

    def __init__(self, rate: float = 400.0, **changes: float) -> None:
        self.law = PaperRateLaw(CongestionParameters(law="paper", **changes))  # type: ignore[arg-type]
        self.wanted = rate

    def alert(self, alert: Reading, *, query: int, now: int) -> bool:
        limit = self.law.limit_msgs_per_s
        observed = self.wanted if limit is None else min(self.wanted, limit)
        return self.law.alert(alert, observed=observed, position=0, query=query, now=now)

    def elapse(self, now: int, *, waiting: bool = True) -> bool:
        return self.law.elapse(observed=0.0, position=0, waiting=waiting, now=now)

    @property
    def limit(self) -> float | None:
        return self.law.limit_msgs_per_s


def test_equation_2_the_first_decrease_halves_because_r_decr_is_zero() -> None:
    pubend = Pubend(400.0)

    assert pubend.alert(reading(0, 0.5), query=1, now=0)
    assert pubend.limit == 200.0
    assert pubend.law.rule is Rule.PAPER_DECREASE


def test_equation_2_a_decrease_after_increases_goes_back_towards_r_decr() -> None:
    pubend = Pubend(400.0)
    pubend.alert(reading(0, 0.5), query=1, now=0)
    for number in range(1, 11):
        assert pubend.elapse(number * T_NOUCA)
    raised = pubend.limit
    assert raised is not None
    assert raised > 200.0

    assert pubend.alert(reading(21, 0.9), query=22, now=21 * SECOND)
    assert pubend.limit == pytest.approx(200.0 + 0.25 * (raised - 200.0))


def test_equation_2_never_lowers_below_half() -> None:
    """Once the gain is large, half of the rate is more than r_decr and a quarter of the gain."""
    pubend = Pubend(1.0e6, floor_msgs_per_s=1.0)
    pubend.alert(reading(0, 0.5), query=1, now=0)
    pubend.law.limit_msgs_per_s = 4.0e6
    pubend.wanted = 4.0e6

    pubend.alert(reading(5, 0.9), query=6, now=10 * SECOND)
    assert pubend.limit == pytest.approx(max(2.0e6, 0.5e6 + 0.25 * 3.5e6))


def test_equation_3_a_decrease_after_a_decrease_halves() -> None:
    pubend = Pubend(400.0)
    pubend.alert(reading(0, 0.5), query=1, now=0)

    assert pubend.alert(reading(1, 0.4), query=2, now=SECOND)
    assert pubend.limit == 100.0
    assert pubend.law.rule is Rule.PAPER_REPEATED_DECREASE


def test_an_alert_for_a_query_before_the_last_decrease_is_held() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5), query=3, now=0)

    assert not pubend.alert(reading(2, 0.1), query=3, now=SECOND)
    assert pubend.limit == 200.0


def test_an_alert_with_better_rates_than_the_one_before_is_held() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5, 0.8), query=1, now=0)

    assert not pubend.alert(reading(1, 0.6, 0.9), query=2, now=SECOND)


def test_one_component_that_did_not_rise_is_enough_to_decrease() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5, 0.8), query=1, now=0)

    assert pubend.alert(reading(1, 0.6, 0.8), query=2, now=SECOND)


def test_a_component_that_was_absent_before_counts_as_infinite() -> None:
    """It cannot have risen above infinity, so there is no hold."""
    pubend = Pubend()
    pubend.alert(reading(0, 0.5), query=1, now=0)

    assert pubend.alert(reading(1, 0.6, 1.5), query=2, now=SECOND)


def test_a_component_that_is_absent_now_does_not_prevent_the_hold() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5, 0.8), query=1, now=0)

    assert not pubend.alert(reading(1, 0.6), query=2, now=SECOND)


def test_the_previous_value_is_forgotten_after_t_nouca() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5), query=1, now=0)

    assert pubend.alert(reading(2, 0.9), query=3, now=T_NOUCA)


def test_what_is_lowered_is_the_lesser_of_limit_and_actual_rate() -> None:
    pubend = Pubend(400.0)
    pubend.alert(reading(0, 0.5), query=1, now=0)
    pubend.wanted = 50.0

    pubend.alert(reading(1, 0.4), query=2, now=SECOND)
    assert pubend.limit == 25.0


def test_the_rate_never_falls_below_the_floor() -> None:
    pubend = Pubend(8.0)
    for number in range(10):
        pubend.alert(reading(number, 0.5 - number / 100), query=number + 1, now=number * SECOND)

    assert pubend.limit == 1.0


def test_equation_1_the_increase_is_r_min_at_first_and_a_share_of_the_gain_later() -> None:
    pubend = Pubend(400.0)
    pubend.alert(reading(0, 0.5), query=1, now=0)

    assert pubend.elapse(T_NOUCA)
    assert pubend.limit == 202.0

    pubend.law.limit_msgs_per_s = 300.0
    assert pubend.elapse(2 * T_NOUCA)
    assert pubend.limit == 300.0 + 0.05 * (300.0 - 200.0)
    assert pubend.law.rule is Rule.PAPER_INCREASE


def test_an_increase_waits_for_t_nouca_without_alerts() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5), query=1, now=0)
    pubend.alert(reading(0, 0.5), query=1, now=SECOND)

    assert not pubend.elapse(T_NOUCA)
    assert pubend.elapse(T_NOUCA + SECOND)


def test_there_is_one_increase_in_t_nouca() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5), query=1, now=0)
    raised = [now for now in range(0, 10 * SECOND, SECOND) if pubend.elapse(now)]

    assert raised == [2 * SECOND, 4 * SECOND, 6 * SECOND, 8 * SECOND]


def test_a_limit_without_waiting_publications_stays() -> None:
    pubend = Pubend()
    pubend.alert(reading(0, 0.5), query=1, now=0)

    assert not pubend.elapse(10 * SECOND, waiting=False)


def test_without_alerts_there_is_no_limit() -> None:
    pubend = Pubend()

    assert not pubend.elapse(10 * SECOND)
    assert pubend.limit is None
