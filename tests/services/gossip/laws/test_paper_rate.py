"""Figure 5 (c), case by case, for one sender and for arrays of them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.services.gossip.laws.paper_rate import paper_rate
from penstock.services.gossip.parameters import AdaptationParameters

PARAMETERS = AdaptationParameters()


def law(age: float, tokens: float, draw: float, rate: float = 1.0) -> float:
    return float(
        paper_rate(
            rate,
            average_age=age,
            average_tokens=tokens,
            draw=draw,
            low_age_mark=5.0,
            high_age_mark=7.0,
            parameters=PARAMETERS,
        )
    )


@pytest.mark.parametrize(
    ("age", "tokens", "draw", "factor"),
    [
        (8.0, 1.0, 0.9, 1.05),  # old drops, tokens used, the draw allows it
        (8.0, 1.0, 0.4, 1.0),  # the draw does not
        (8.0, 9.0, 0.9, 0.95),  # the rate is not used
        (6.0, 1.0, 0.9, 1.0),  # between the marks
        (4.0, 1.0, 0.9, 0.95),  # congestion
        (4.0, 9.0, 0.9, 0.95),  # congestion and unused: one decrease
    ],
)
def test_the_law_of_figure_5_c(age: float, tokens: float, draw: float, factor: float) -> None:
    assert law(age, tokens, draw) == pytest.approx(factor)


def test_an_idle_sender_does_not_decay_to_zero() -> None:
    rate = 1.0
    for _ in range(1000):
        rate = law(6.0, 10.0, 0.9, rate)
    assert rate == PARAMETERS.lowest_rate_msgs_per_s


def test_arrays_obey_the_same_law() -> None:
    ages, tokens, draws = np.array([8.0, 6.0, 4.0]), np.array([1.0, 1.0, 1.0]), np.full(3, 0.9)
    rates = paper_rate(
        np.ones(3),
        average_age=ages,
        average_tokens=tokens,
        draw=draws,
        low_age_mark=5.0,
        high_age_mark=7.0,
        parameters=PARAMETERS,
    )
    assert np.allclose(rates, [law(*each) for each in zip(ages, tokens, draws, strict=True)])
