"""Fig. 5 of the paper, corrected as the module says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import UpstreamCongestionAlert
from penstock.services.guaranteed.relay.alert_aggregation import AlertAggregation, blaming


def reading(rate: float | None, edge: str = "edge") -> AlertReading | None:
    return None if rate is None else AlertReading(rate, edge, rate, 0)


def alert(
    sequence: int, live: float | None = None, recovering: float | None = None, epoch: int = 1
) -> UpstreamCongestionAlert:
    return UpstreamCongestionAlert("p", epoch, sequence, reading(live), reading(recovering))


def test_the_first_alert_for_a_query_passes_at_once() -> None:
    relay = AlertAggregation()

    assert relay.pass_up(alert(0, 0.5)) == alert(0, 0.5)
    assert relay.pass_up(alert(1, 0.9)) == alert(1, 0.9)


def test_a_later_alert_for_the_same_query_passes_only_if_it_is_lower() -> None:
    relay = AlertAggregation()
    relay.pass_up(alert(3, 0.5))

    assert relay.pass_up(alert(3, 0.5)) is None
    assert relay.pass_up(alert(3, 0.6)) is None
    assert relay.pass_up(alert(3, 0.4)) == alert(3, 0.4)


def test_a_late_minimum_is_not_carried_over_to_the_next_query() -> None:
    """The flaw of Fig. 5: it would pass for fresh news and lower the rate twice."""
    relay = AlertAggregation()
    relay.pass_up(alert(3, 0.5))
    relay.pass_up(alert(3, 0.1))

    assert relay.pass_up(alert(4, 0.9)) == alert(4, 0.9)


def test_the_minima_of_both_kinds_travel_together() -> None:
    relay = AlertAggregation()
    relay.pass_up(alert(3, 0.5))

    assert relay.pass_up(alert(3, None, 1.5)) == alert(3, 0.5, 1.5)
    assert relay.pass_up(alert(3, 0.7, 1.2)) == alert(3, 0.5, 1.2)


def test_an_alert_for_an_older_query_goes_nowhere() -> None:
    relay = AlertAggregation()
    relay.pass_up(alert(3, 0.5))

    assert relay.pass_up(alert(2, 0.1)) is None


def test_an_empty_alert_goes_nowhere_and_changes_nothing() -> None:
    relay = AlertAggregation()

    assert relay.pass_up(alert(7)) is None
    assert relay.pass_up(alert(3, 0.5)) == alert(3, 0.5)


def test_alerts_for_a_restarted_pubend_pass_although_it_counts_from_zero() -> None:
    relay = AlertAggregation()
    relay.pass_up(alert(1000, 0.5, epoch=1))

    assert relay.pass_up(alert(0, 0.9, epoch=2)) == alert(0, 0.9, epoch=2)
    assert relay.pass_up(alert(1001, 0.1, epoch=1)) is None


rates = st.none() | st.sampled_from([0.1, 0.5, 0.9, 1.5])


@given(heard=st.lists(st.tuples(rates, rates), max_size=10))
def test_the_last_that_went_up_tells_the_minimum_of_all(
    heard: list[tuple[float | None, float | None]],
) -> None:
    relay = AlertAggregation()
    last = None
    for live, recovering in heard:
        last = relay.pass_up(alert(1, live, recovering)) or last

    lowest_live = min((live for live, _ in heard if live is not None), default=None)
    lowest_recovering = min((slow for _, slow in heard if slow is not None), default=None)
    if lowest_live is None and lowest_recovering is None:
        assert last is None
    else:
        assert last == alert(1, lowest_live, lowest_recovering)


def test_the_link_with_the_most_queued_bytes_is_the_bottleneck() -> None:
    near = blaming(alert(1, 0.5), "ib->sb", 1000)
    far = blaming(near, "pb->ib", 400)
    worse = blaming(near, "pb->ib", 1001)

    assert near.nonrecovering is not None
    assert (near.nonrecovering.link, near.nonrecovering.link_bytes) == ("ib->sb", 1000)
    assert far == near
    assert worse.nonrecovering is not None
    assert worse.nonrecovering.link == "pb->ib"
    assert worse.recovering is None


def test_an_empty_link_is_no_bottleneck() -> None:
    assert blaming(alert(1, None, 0.5), "ib->sb", 0) == alert(1, None, 0.5)
