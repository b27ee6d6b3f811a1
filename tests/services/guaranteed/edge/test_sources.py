"""One source as an edge sees it."""

from __future__ import annotations

from collections import Counter

from penstock.core.machine import Effect
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView, to_relay
from penstock.services.guaranteed.messages import SubscriptionConfirmed, SubscriptionUpdate

TREE = Tree("pb", "up", (), 1, ("p",))


def test_registrations_are_numbered_one_after_another() -> None:
    wanted = Counter({"b": 1, "a": 2})
    view = SourceView(TREE, wanted)

    assert view.register_all() == SubscriptionUpdate("pb", 1, True, ("a", "b"))
    assert view.register("c") == SubscriptionUpdate("pb", 2, False, ("c",))
    assert view.unregister("a") == SubscriptionUpdate("pb", 3, False, (), ("a",))


def test_a_confirmation_that_comes_late_does_not_take_back_a_later_one() -> None:
    view = SourceView(TREE, Counter())
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
    restarted = Tree("pb", "up", (), 2, ("p", "q"))

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
