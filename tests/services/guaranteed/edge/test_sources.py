"""One source as an edge sees it."""

from __future__ import annotations

from collections import Counter

from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.sources import SourceView
from penstock.services.guaranteed.messages import SubscriptionConfirmed, SubscriptionUpdate


def test_wishes_are_numbered_one_after_another() -> None:
    wanted = Counter({"b": 1, "a": 2})
    view = SourceView(Tree("pb", "up", (), 1, ("p",)), wanted)

    assert view.register_all() == SubscriptionUpdate("pb", 1, True, ("a", "b"))
    assert view.register("c") == SubscriptionUpdate("pb", 2, False, ("c",))
    assert view.unregister("a") == SubscriptionUpdate("pb", 3, False, (), ("a",))


def test_a_confirmation_that_comes_late_does_not_take_back_a_later_one() -> None:
    view = SourceView(Tree("pb", "up", (), 1, ("p",)), Counter())
    view.confirm(SubscriptionConfirmed("pb", 3, {"p": 30}, {"p": 1}))
    view.confirm(SubscriptionConfirmed("pb", 2, {"q": 20}, {"q": 2}))

    assert view.confirmed_version == 3
    assert view.ticks == {"p": 30, "q": 20}
    assert view.earliest == {"p": 1, "q": 2}
