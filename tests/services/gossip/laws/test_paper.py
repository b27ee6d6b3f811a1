"""The paper's law for one sender: which way the rate goes, and the reason that it gives."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from penstock.services.gossip.laws.law import Cause, Measures
from penstock.services.gossip.laws.paper import AgeLaw
from penstock.services.gossip.membership.group_size import age_marks
from penstock.services.gossip.messages import Header
from penstock.services.gossip.parameters import AdaptationParameters

MakeMeasures = Callable[..., Measures]


@pytest.mark.parametrize(
    ("age", "tokens", "cause"),
    [
        (4.9, 0.0, Cause.AGE_BELOW_MARKS),
        (5.0, 0.0, Cause.AGE_BETWEEN_MARKS),
        (7.0, 0.0, Cause.AGE_BETWEEN_MARKS),
        (7.1, 0.0, Cause.AGE_ABOVE_MARKS),
        (7.1, 5.0, Cause.AGE_ABOVE_MARKS),
        (4.9, 5.1, Cause.RATE_NOT_USED),
    ],
)
def test_the_age_of_drops_against_the_marks_is_the_cause(
    make_measures: MakeMeasures, age: float, tokens: float, cause: Cause
) -> None:
    law = AgeLaw(AdaptationParameters(), Random(1))
    assert law.cause(make_measures(average_age=age, average_tokens=tokens)) is cause


def test_a_rate_falls_below_the_marks_and_rises_above_them_if_the_draw_says_so(
    make_measures: MakeMeasures,
) -> None:
    law = AgeLaw(AdaptationParameters(increase_threshold=0.5), Random(1))
    low, high = make_measures(average_age=4.0), make_measures(average_age=8.0)
    assert law.next_rate(low) == pytest.approx(0.95 * low.rate_msgs_per_s)
    after = {round(law.next_rate(high) / high.rate_msgs_per_s, 6) for _ in range(20)}
    assert after == {1.0, 1.05}


def test_marks_by_size_follow_the_estimated_group(make_measures: MakeMeasures) -> None:
    fixed = AgeLaw(AdaptationParameters(), Random(1))
    by_size = AgeLaw(AdaptationParameters(marks="by size"), Random(1))
    for law in (fixed, by_size):
        law.next_rate(make_measures(group_size=6000.0))
    assert (fixed.steering.low_age_mark, fixed.steering.high_age_mark) == (5.0, 7.0)
    shown = (by_size.steering.low_age_mark, by_size.steering.high_age_mark)
    assert shown == pytest.approx(age_marks(5.0, 7.0, 6000.0))
    assert shown[0] > 5.0


def test_the_means_of_the_improved_law_are_not_used(
    make_measures: MakeMeasures, make_header: Callable[..., Header]
) -> None:
    law = AgeLaw(AdaptationParameters(), Random(1))
    before = law.steering
    law.heard(make_header(mean_rate_msgs_per_s=9.0, mean_rate_weight=1.0))
    law.next_rate(make_measures())
    assert law.steering == before
