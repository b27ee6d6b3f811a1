"""Changes in order give the same members as the whole; what is missing is noticed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.multicast.groups.membership import MembershipTable
from penstock.services.multicast.messages import Membership, MembershipChange

changes = st.lists(
    st.tuples(st.sampled_from("gh"), st.sampled_from("xyz"), st.booleans()), max_size=30
)


@given(changes)
def test_changes_one_by_one_and_the_whole_agree(made: list[tuple[str, str, bool]]) -> None:
    one, other = MembershipTable(), MembershipTable()
    for number, (group, member, joined) in enumerate(made, 1):
        assert one.apply(MembershipChange("b", 7, number, group, member, joined))
    other.replace(one.state("b"))
    for group in "gh":
        assert one.members(group, "b") == other.members(group, "b")
        assert one.brokers_of(group) == other.brokers_of(group)
    assert one.groups() == other.groups()


def test_a_missing_change_is_noticed_and_a_repeated_one_is_no_news() -> None:
    table = MembershipTable()
    first = MembershipChange("b", 7, 1, "g", "x", True)
    assert table.apply(first) is True
    assert table.apply(first) is False
    assert table.apply(MembershipChange("b", 7, 3, "g", "y", True)) is None
    assert table.apply(MembershipChange("c", 7, 2, "g", "y", True)) is None
    assert table.members("g", "b") == ("x",)


def test_a_later_incarnation_forgets_the_members_of_the_earlier() -> None:
    table = MembershipTable()
    table.replace(Membership("b", 7, 5, {"g": ("x", "y"), "h": ("x",)}))
    assert table.replace(Membership("b", 6, 9, {"g": ("z",)})) is None
    assert table.apply(MembershipChange("b", 8, 1, "g", "z", True)) is True
    assert table.members("g", "b") == ("z",)
    assert table.brokers_of("h") == ()
    assert table.apply(MembershipChange("b", 7, 6, "g", "w", True)) is False


def test_replacing_tells_which_groups_changed() -> None:
    table = MembershipTable()
    table.replace(Membership("b", 7, 1, {"same": ("x",), "gone": ("x",)}))
    changed = table.replace(Membership("b", 7, 2, {"same": ("x",), "new": ("x",)}))
    assert changed == ["gone", "new"]
