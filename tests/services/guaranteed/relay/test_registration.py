"""What is wanted behind each link, and what goes up from it: covering, confirming, completeness."""

from __future__ import annotations

from penstock.core.clock import NEVER
from penstock.services.guaranteed.messages import SubscriptionUpdate
from penstock.services.guaranteed.relay.registration import Registrations

ROOT = "pb"
WIDE, NARROW, OTHER = "price > 10", "price > 20", "side = 'buy'"


def want(version: int, *added: str) -> SubscriptionUpdate:
    return SubscriptionUpdate(ROOT, version, False, added)


def drop(version: int, *removed: str) -> SubscriptionUpdate:
    return SubscriptionUpdate(ROOT, version, False, (), removed)


def full(version: int, *wanted: str) -> SubscriptionUpdate:
    return SubscriptionUpdate(ROOT, version, True, wanted)


def test_an_uncovered_selector_travels_up() -> None:
    registrations = Registrations()

    assert registrations.update("a", want(1, WIDE)) == want(1, WIDE)
    assert registrations.update("b", want(1, OTHER)) == want(2, OTHER)


def test_a_covered_selector_stays_below() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))

    assert registrations.update("b", want(1, NARROW)) is None
    assert registrations.update("c", want(1, WIDE)) is None


def test_a_cover_replaces_what_it_covers() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, NARROW))

    assert registrations.update("b", want(1, WIDE)) == SubscriptionUpdate(
        ROOT, 2, False, (WIDE,), (NARROW,)
    )


def test_when_a_cover_goes_what_it_hid_is_asked_for() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.update("b", want(1, NARROW))

    assert registrations.update("a", drop(2, WIDE)) == SubscriptionUpdate(
        ROOT, 2, False, (NARROW,), (WIDE,)
    )


def test_a_selector_wanted_twice_is_given_up_with_the_last_who_wants_it() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.update("b", want(1, WIDE))

    assert registrations.update("a", drop(2, WIDE)) is None
    assert registrations.withdraw(ROOT, "b") == drop(2, WIDE)
    assert registrations.withdraw(ROOT, "b") is None


def test_a_full_update_replaces_everything_said_before() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE, OTHER))

    assert registrations.update("a", full(2, OTHER)) == drop(2, WIDE)
    assert registrations.links["a"].selectors == [OTHER]


def test_giving_up_what_was_never_wanted_changes_nothing() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))

    assert registrations.update("a", drop(2, OTHER)) is None


def test_a_child_is_confirmed_when_what_it_needs_is_confirmed_from_above() -> None:
    registrations = Registrations()
    registrations.update("a", want(7, WIDE))
    assert registrations.confirmable() == []

    registrations.confirm(1, {"p": 100})
    assert registrations.confirmable() == [("a", 7)]
    assert registrations.confirmable() == []


def test_a_child_under_a_confirmed_cover_is_confirmed_at_once() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.confirm(1, {"p": 100})
    registrations.confirmable()
    registrations.update("b", want(4, NARROW))

    assert registrations.confirmable() == [("b", 4)]


def test_a_child_under_an_unconfirmed_cover_waits_for_it() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.update("b", want(4, NARROW))
    assert registrations.confirmable() == []

    registrations.confirm(1, {"p": 100})
    assert registrations.confirmable() == [("a", 1), ("b", 4)]


def test_an_earlier_confirmation_does_not_confirm_a_later_wish() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.update("b", want(1, OTHER))
    registrations.confirm(1, {"p": 100})

    assert registrations.confirmable() == [("a", 1)]


def test_a_child_that_is_gone_is_not_confirmed() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.withdraw(ROOT, "a")
    registrations.confirm(9, {"p": 100})

    assert registrations.confirmable() == []


def test_a_new_parent_is_told_everything_and_must_confirm_all_of_it() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.update("b", want(1, NARROW, OTHER))

    assert registrations.everything(ROOT) == full(3, WIDE, OTHER)
    registrations.confirm(2, {"p": 100})
    assert registrations.confirmable() == []
    registrations.confirm(3, {"p": 100})
    assert registrations.confirmable() == [("a", 1), ("b", 1)]


def test_knowledge_is_complete_for_a_selector_since_its_cover_was_confirmed() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    assert registrations.complete_since([WIDE], "p") == NEVER

    registrations.confirm(1, {"p": 100})
    assert registrations.complete_since([WIDE], "p") == 100
    assert registrations.complete_since([NARROW], "p") == 100
    assert registrations.complete_since([OTHER], "p") == NEVER
    assert registrations.complete_since([WIDE], "another") == NEVER


def test_knowledge_is_complete_for_several_selectors_since_the_last_of_them() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.confirm(1, {"p": 100})
    registrations.update("a", want(2, OTHER))
    registrations.confirm(2, {"p": 250})

    assert registrations.complete_since([WIDE, OTHER], "p") == 250
    assert registrations.complete_since([], "p") == NEVER


def test_a_confirmation_that_is_repeated_does_not_move_completeness() -> None:
    """What came in between was complete all along."""
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.confirm(1, {"p": 100})
    registrations.everything(ROOT)
    registrations.confirm(2, {"p": 500})

    assert registrations.complete_since([WIDE], "p") == 100


def test_what_was_given_up_in_between_is_complete_only_since_it_was_wanted_again() -> None:
    registrations = Registrations()
    registrations.update("a", want(1, WIDE))
    registrations.confirm(1, {"p": 100})
    registrations.update("a", drop(2, WIDE))
    registrations.update("a", want(3, WIDE))
    registrations.confirm(3, {"p": 300})

    assert registrations.complete_since([WIDE], "p") == 300
