"""Partial views: bounded, exchanged, forgetting who is gone."""

from __future__ import annotations

from collections import Counter
from random import Random

from penstock.services.gossip.membership.view import PartialView
from penstock.services.gossip.messages import Acquaintance
from penstock.services.gossip.parameters import GossipParameters

PARAMETERS = GossipParameters(view_size=5, view_exchange=2, forget_after_rounds=4)


def view(*members: str, balanced: bool = False) -> PartialView:
    made = PartialView("me", PARAMETERS, Random(1), balanced=balanced)
    made.meet(members)
    return made


def test_a_view_is_bounded_and_never_holds_oneself() -> None:
    mine = view("a")
    names = ["me", *(f"p{number}" for number in range(20))]
    mine.merge(tuple(Acquaintance(name, 0) for name in names), ())
    assert len(mine) == 5
    assert "me" not in mine
    mine.check_invariants()


def test_those_mentioned_most_often_are_forgotten_first() -> None:
    mine = view("a", "b", "c", "d", "e")
    for _ in range(3):
        mine.merge((Acquaintance("c", 0),), ())
    mine.merge((Acquaintance("newcomer", 0),), ())
    assert "c" not in mine
    assert "newcomer" in mine


def test_who_is_not_heard_of_is_forgotten() -> None:
    mine = view("a", "b")
    for _ in range(5):
        mine.next_round()
        mine.merge((Acquaintance("a", 0),), ())
    assert mine.members == ["a"]


def test_an_old_word_does_not_renew_a_member() -> None:
    mine = view("a", "b")
    for _ in range(6):
        mine.next_round()
        mine.merge((Acquaintance("a", 0), Acquaintance("b", 9)), ())
    assert "b" not in mine


def test_contacts_are_tried_again_when_nobody_else_is_known() -> None:
    mine = view("a")
    for _ in range(10):
        mine.next_round()
    assert mine.members == ["a"]


def test_a_departure_outweighs_older_words_and_is_passed_on() -> None:
    mine = view("a", "b")
    mine.next_round()
    mine.merge((Acquaintance("b", 3),), ("b",))
    assert "b" not in mine
    assert mine.departed == ("b",)
    mine.next_round()
    mine.merge((Acquaintance("b", 0),), ())
    assert "b" in mine, "it has come back and speaks for itself"


def test_a_gossip_names_the_sender_first() -> None:
    sample = view("a", "b", "c").sample()
    assert sample[0] == Acquaintance("me", 0)
    assert len(sample) == 3


def test_targets_are_different_members() -> None:
    mine = view("a", "b", "c", "d", "e")
    for _ in range(20):
        assert len(set(mine.targets(3))) == 3
    assert sorted(mine.targets(9)) == ["a", "b", "c", "d", "e"]


def test_balanced_targets_give_everybody_as_much() -> None:
    mine = view("a", "b", "c", "d", "e", balanced=True)
    counts = Counter(target for _ in range(25) for target in mine.targets(3))
    assert set(counts.values()) == {15}
