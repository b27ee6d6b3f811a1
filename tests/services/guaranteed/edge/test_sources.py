"""One source as an edge sees it."""

from __future__ import annotations

from collections import Counter

from penstock.core.machine import Effect
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView, to_relay
from penstock.services.guaranteed.messages import SubscriptionConfirmed, SubscriptionUpdate

TREE = Tree("pb", "pb", "up", (), 1, ("p",))
FIRST = Tree("pb~1of2", "pb", "up", (), 1, ("p",))
SECOND = Tree("pb~2of2", "pb", "other", (), 1, ("q",))
BOTH = {"pb~1of2": FIRST, "pb~2of2": SECOND}


def source(*trees: Tree, wanted: Counter[str] | None = None) -> SourceView:
    made = SourceView("pb", Counter() if wanted is None else wanted)
    assert made.takes(list(trees))
    return made


def test_registrations_are_numbered_one_after_another() -> None:
    wanted = Counter({"b": 1, "a": 2})
    view = source(TREE, wanted=wanted)

    assert view.register_all() == [to_relay(SubscriptionUpdate("pb", 1, True, ("a", "b")))]
    assert view.register("c") == [to_relay(SubscriptionUpdate("pb", 2, False, ("c",)))]
    assert view.unregister("a") == [to_relay(SubscriptionUpdate("pb", 3, False, (), ("a",)))]


def test_a_confirmation_that_comes_late_does_not_take_back_a_later_one() -> None:
    view = source(TREE)
    view.confirm(SubscriptionConfirmed("pb", 3, {"p": 30}, {"p": 1}))
    view.confirm(SubscriptionConfirmed("pb", 2, {"q": 20}, {"q": 2}))

    assert view.confirmed_version == 3
    assert view.ticks == {"p": 30, "q": 20}
    assert view.earliest == {"p": 1, "q": 2}


def test_the_first_subscriber_registers_a_selector_and_the_last_unregisters_it() -> None:
    sources, out = EdgeSources(), list[Effect]()
    sources.trees_changed({"pb": TREE}, out)
    (view,) = sources

    assert sources.is_idle
    assert sources.want("TRUE")
    assert not sources.want("TRUE")
    view.register("TRUE")
    sources.unwant("TRUE", out)
    assert out == []
    sources.unwant("TRUE", out)
    assert out == [to_relay(SubscriptionUpdate("pb", 2, False, (), ("TRUE",)))]
    assert sources.is_idle


def test_a_source_is_started_when_it_is_new_or_has_another_incarnation() -> None:
    sources = EdgeSources()
    restarted = Tree("pb", "pb", "up", (), 2, ("p", "q"))

    assert [view.root for view in sources.trees_changed({"pb": TREE}, [])] == ["pb"]
    assert sources.trees_changed({"pb": TREE}, []) == []
    assert sources.trees_changed({}, []) == []
    assert [view.pubends for view in sources.trees_changed({"pb": restarted}, [])] == [("p", "q")]


def test_a_source_that_was_restarted_is_told_every_selector() -> None:
    sources, out = EdgeSources(), list[Effect]()
    sources.want("b = 1")
    sources.want("a = 1")
    sources.trees_changed({"pb": TREE}, out)

    assert out == [to_relay(SubscriptionUpdate("pb", 1, True, ("a = 1", "b = 1")))]


def test_a_selector_is_registered_in_every_tree_and_confirmed_when_all_have_confirmed() -> None:
    view = source(FIRST, SECOND, wanted=Counter({"a": 1}))

    assert view.pubends == ("p", "q")
    assert view.register_all() == [
        to_relay(SubscriptionUpdate(name, 1, True, ("a",))) for name in BOTH
    ]
    view.confirm(SubscriptionConfirmed("pb~2of2", 1, {"q": 20}, {"q": 2}))
    assert not view.is_confirmed
    view.confirm(SubscriptionConfirmed("pb~1of2", 1, {"p": 30}, {"p": 1}))
    assert view.is_confirmed
    assert view.ticks == {"p": 30, "q": 20}


def test_a_source_with_other_trees_than_before_is_told_everything_again() -> None:
    sources, out = EdgeSources(), list[Effect]()
    sources.want("TRUE")
    sources.trees_changed({"pb": TREE}, [])
    (view,) = sources
    view.confirm(SubscriptionConfirmed("pb", 1, {"p": 30}, {"p": 1}))

    assert sources.trees_changed(BOTH, out) == [view]
    assert out == [to_relay(SubscriptionUpdate(name, 2, True, ("TRUE",))) for name in BOTH]
    assert not view.is_confirmed
    assert sources.of_tree("pb") is None
    assert sources.of_tree("pb~2of2") is view
    for name in BOTH:
        assert not view.has_restarted
        view.confirm(SubscriptionConfirmed(name, 2, {}, {}))
    assert view.has_restarted
