"""Without a law the rate stays, whatever is measured."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.services.gossip.laws.law import Cause, Measures, initial_steering
from penstock.services.gossip.laws.none import UnlimitedLaw
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import AdaptationParameters

PARAMETERS = AdaptationParameters()


def test_nothing_changes_the_rate(
    make_measures: Callable[..., Measures],
    make_header: Callable[..., Header],
    make_event: Callable[..., Event],
) -> None:
    law = UnlimitedLaw(PARAMETERS)
    law.heard(make_header(mean_rate_msgs_per_s=9.0, mean_rate_weight=1.0))
    law.arrived([make_event(1)])
    for age in (1.0, 9.0):
        measures = make_measures(average_age=age)
        assert law.next_rate(measures) == measures.rate_msgs_per_s
        assert law.cause(measures) is Cause.NOT_LIMITED
    assert msgspec.structs.asdict(law.steering) == msgspec.structs.asdict(
        initial_steering(PARAMETERS)
    )
