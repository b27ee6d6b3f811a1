"""Algorithm 2, as the module's docstring numbers its rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.matching.covering import covers
from penstock.core.clock import SECOND
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.flow_table import STALE_RISE, FlowTable

from ..conftest import NOW, feedback

WIDE, NARROW, OTHER = "kind = 'a'", "kind = 'a' AND size = 1", "kind = 'b'"
STALE_NS = DatagramParameters().stale_after_ns


def table_of(*requests: tuple[str, str, float], **settings: object) -> FlowTable:
    """A table that heard (receiver, selector, quota) in this order."""
    table = FlowTable(DatagramParameters(**settings))  # type: ignore[arg-type]
    for receiver, selector, quota in requests:
        table.feedback(feedback(selector, quota, sender=receiver), NOW)
    return table


def flows(table: FlowTable) -> list[tuple[str, str, float]]:
    return [(each.receiver, each.selector.text, each.quota_msgs_per_s) for each in table.flows]


def test_a_new_filter_becomes_a_flow() -> None:
    assert flows(table_of(("s", WIDE, 10.0))) == [("s", WIDE, 10.0)]


def test_the_limiting_receiver_changes_its_own_flow_both_ways() -> None:
    assert flows(table_of(("s", WIDE, 10.0), ("s", WIDE, 5.0))) == [("s", WIDE, 5.0)]
    assert flows(table_of(("s", WIDE, 10.0), ("s", WIDE, 15.0))) == [("s", WIDE, 15.0)]


def test_what_is_covered_by_a_lower_or_equal_quota_is_not_added() -> None:
    assert flows(table_of(("s", WIDE, 10.0), ("t", NARROW, 20.0))) == [("s", WIDE, 10.0)]
    assert flows(table_of(("s", WIDE, 10.0), ("t", NARROW, 10.0))) == [("s", WIDE, 10.0)]


def test_a_narrow_flow_with_a_lower_quota_stands_beside_the_wide_one() -> None:
    assert len(table_of(("s", WIDE, 10.0), ("t", NARROW, 2.0)).flows) == 2


def test_a_lower_wide_flow_replaces_what_it_covers() -> None:
    assert flows(table_of(("t", NARROW, 20.0), ("s", WIDE, 10.0))) == [("s", WIDE, 10.0)]


def test_a_worse_receiver_of_the_same_filter_takes_over() -> None:
    assert flows(table_of(("s", WIDE, 10.0), ("t", WIDE, 4.0))) == [("t", WIDE, 4.0)]


def test_a_raise_is_accepted_only_after_looking_for_covers_again() -> None:
    table = table_of(("t", NARROW, 2.0), ("s", WIDE, 10.0), ("t", NARROW, 50.0))
    assert flows(table) == [("s", WIDE, 10.0)]


def test_what_waits_in_a_flow_that_goes_waits_in_its_heir() -> None:
    table = table_of(("t", NARROW, 20.0))
    table.flows[0].wait(["first", "second"])
    table.feedback(feedback(WIDE, 10.0, sender="s"), NOW)
    assert list(table.flows[0].waiting) == ["first", "second"]


def test_a_message_is_part_of_every_flow_that_matches_it() -> None:
    table = table_of(("s", WIDE, 10.0), ("t", NARROW, 2.0), ("u", OTHER, 3.0))
    row = {"kind": "a", "size": 1}
    found = [table.flow(slot) for slot in table.matching(row)]
    assert [each.receiver for each in found] == ["s", "t"]
    assert not table.matching({"kind": "c"})


def test_a_selector_that_is_written_differently_is_the_same_flow() -> None:
    table = table_of(("s", WIDE, 10.0), ("t", "kind='a'", 4.0), ("t", "kind  =  'a'", 6.0))
    assert flows(table) == [("t", WIDE, 6.0)]


def test_the_slot_of_a_flow_that_went_is_used_again() -> None:
    table = table_of(("s", WIDE, 10.0), ("u", OTHER, 3.0))
    table.flows[0].wait(["waits"])
    table.flows[0].held_back = True
    table.feedback(feedback("", 1.0, sender="v"), NOW)
    table.feedback(feedback(NARROW, 0.5, sender="w"), NOW + SECOND)
    everything, narrow = table.flows
    assert (everything.text, narrow.text) == ("TRUE", NARROW)
    assert (list(everything.waiting), list(narrow.waiting)) == (["waits"], [])
    assert (narrow.held_back, narrow.since, narrow.receiver) == (False, NOW + SECOND, "w")
    assert table.matching({"kind": "a", "size": 1}) == [everything.slot, narrow.slot]


@pytest.mark.parametrize("quota", [0.0, -5.0, 1e-12])
def test_no_report_goes_below_the_floor(quota: float) -> None:
    table = table_of(("s", WIDE, quota), quota_floor_msgs_per_s=2.0)
    assert flows(table) == [("s", WIDE, 2.0)]


@pytest.mark.parametrize("quota", [float("nan"), float("inf"), float("-inf")])
def test_a_quota_that_is_no_number_changes_nothing(quota: float) -> None:
    table = table_of(("s", WIDE, quota))
    assert not table.flows
    assert table.refused_requests == 1


@pytest.mark.parametrize("selector", ["kind =", "kind = 'a' AND", "x" * 5000])
def test_a_selector_that_is_none_changes_nothing(selector: str) -> None:
    table = table_of(("s", selector, 5.0))
    assert not table.flows
    assert table.refused_requests == 1


def test_the_table_is_bounded_for_all_and_for_each_receiver() -> None:
    requests = [("s", f"n = {each}", 5.0) for each in range(10)]
    assert len(table_of(*requests, max_flows=4).flows) == 4
    assert len(table_of(*requests, max_flows_of_receiver=3).flows) == 3


def test_a_stale_flow_that_holds_nothing_back_goes() -> None:
    table = table_of(("s", WIDE, 10.0))
    table.loosen_stale(NOW + STALE_NS)
    assert not table.flows


def test_reports_move_the_instant_of_staleness_when_it_has_come() -> None:
    table = table_of(("s", WIDE, 10.0), ("u", OTHER, 3.0))
    for receiver, selector in (("s", WIDE), ("u", OTHER)):
        table.feedback(feedback(selector, 3.0, sender=receiver), NOW + SECOND)
    assert table.stale_at() == NOW + STALE_NS
    table.loosen_stale(NOW + STALE_NS)
    assert (len(table), table.stale_at()) == (2, NOW + SECOND + STALE_NS)


def test_a_stale_flow_that_holds_back_is_loosened() -> None:
    table = table_of(("s", WIDE, 10.0))
    table.flows[0].held_back = True
    table.loosen_stale(NOW + STALE_NS)
    assert flows(table) == [("s", WIDE, 10.0 * STALE_RISE)]
    assert table.stale_at() == NOW + 2 * STALE_NS


def test_a_stale_flow_is_handed_over_to_somebody_who_reports() -> None:
    table = table_of(("s", WIDE, 10.0))
    table.feedback(feedback(WIDE, 12.0, sender="t"), NOW + SECOND)
    table.flows[0].held_back = True
    table.loosen_stale(NOW + STALE_NS)
    assert flows(table) == [("t", WIDE, 12.0)]


def test_the_numbers_of_a_flow_that_is_handed_over_go_on() -> None:
    table = table_of(("s", WIDE, 10.0))
    (slot,) = table.matching({"kind": "a"})
    assert [table.columns.tag(slot).sequence for _ in range(2)] == [1, 2]
    table.feedback(feedback(WIDE, 4.0, sender="t", filter_id=7), NOW)
    tag = table.columns.tag(slot)
    assert (tag.receiver, tag.filter_id, tag.sequence) == ("t", 7, 3)


REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["s", "t", "u"]),
        st.sampled_from(["", WIDE, NARROW, OTHER, "size = 1", "kind IN ('a', 'b')"]),
        st.floats(allow_nan=True, allow_infinity=True),
    ),
    max_size=25,
)


@given(REQUESTS)
@settings(deadline=None)
def test_no_flow_is_superfluous_whatever_is_reported(
    requests: list[tuple[str, str, float]],
) -> None:
    table = table_of(*requests)
    for flow in table.flows:
        assert flow.quota_msgs_per_s >= DatagramParameters().quota_floor_msgs_per_s
        for other in table.flows:
            if other is not flow and other.receiver != flow.receiver:
                superfluous = other.quota_msgs_per_s < flow.quota_msgs_per_s and covers(
                    other.selector, flow.selector
                )
                # A lowered quota makes others superfluous; they go at their own next report.
                assert not superfluous or other.report.at >= flow.report.at
    assert len({flow.selector.text for flow in table.flows}) == len(table.flows)
