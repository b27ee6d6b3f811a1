"""The improved law for one sender: what it keeps from round to round, and the reason it gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.services.gossip.events.receipts import SETTLE_ROUNDS
from penstock.services.gossip.laws.improved import HELD_UP_TO, CopiesLaw
from penstock.services.gossip.laws.improved_rate import LARGEST_STEP
from penstock.services.gossip.laws.law import Cause, Measures
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import AdaptationParameters

MakeMeasures = Callable[..., Measures]


def new_law() -> CopiesLaw:
    return CopiesLaw(AdaptationParameters())


@pytest.mark.parametrize(
    ("off", "cause"),
    [
        (0.99, Cause.TOO_FEW_COPIES),
        (1.0, Cause.ENOUGH_COPIES),
        (HELD_UP_TO - 0.01, Cause.ENOUGH_COPIES),
        (HELD_UP_TO + 0.01, Cause.SPARE_COPIES),
    ],
)
def test_the_copies_against_their_target_are_the_cause(
    make_measures: MakeMeasures, off: float, cause: Cause
) -> None:
    law = new_law()
    assert law.cause(make_measures(copies=off * law.steering.copies_target)) is cause


def test_an_unused_rate_and_a_small_group_come_before_the_copies(
    make_measures: MakeMeasures,
) -> None:
    law = new_law()
    assert law.cause(make_measures(copies=1.0, reaches_everybody=True)) is Cause.REACHES_EVERYBODY
    unused = make_measures(copies=1.0, reaches_everybody=True, average_tokens=5.1)
    assert law.cause(unused) is Cause.RATE_NOT_USED


def test_too_few_copies_lower_the_rate_unless_each_gossip_reaches_everybody(
    make_measures: MakeMeasures,
) -> None:
    few, small = make_measures(copies=1.0), make_measures(copies=1.0, reaches_everybody=True)
    assert new_law().next_rate(few) == pytest.approx(few.rate_msgs_per_s / LARGEST_STEP)
    assert new_law().next_rate(small) == pytest.approx(small.rate_msgs_per_s * LARGEST_STEP)


def test_the_rates_that_others_gossip_are_mixed_in_at_the_end_of_the_round(
    make_measures: MakeMeasures, make_header: Callable[..., Header]
) -> None:
    law = new_law()
    law.heard(make_header(mean_rate_msgs_per_s=0.8, mean_rate_weight=1.0))
    assert law.steering.mean_rate_weight == 0.0, "the header does not change within a round"
    law.next_rate(make_measures())
    assert 0.5 < law.steering.mean_rate_msgs_per_s < 0.8
    assert law.steering.mean_rate_weight > 0


def test_a_sender_that_does_not_use_its_rate_says_nothing_about_it(
    make_measures: MakeMeasures,
) -> None:
    law = new_law()
    law.next_rate(make_measures(average_tokens=9.0))
    assert law.steering.mean_rate_weight == 0.0


def test_missing_events_raise_the_number_of_copies_to_aim_for(
    make_measures: MakeMeasures, make_event: Callable[..., Event]
) -> None:
    law = new_law()
    before = law.steering
    for round_number in range(SETTLE_ROUNDS + 30):
        law.arrived([make_event(20 * round_number + n) for n in range(20) if n % 4])
        law.next_rate(make_measures(copies=before.copies_target))
    assert law.steering.receipt < 0.9
    assert law.steering.copies_target > before.copies_target
