from __future__ import annotations

import pytest

from penstock.lab.oracle.judgement import MAX_EXAMPLES, Judgement, judgement_of, merged


def test_a_new_judgement_has_every_rule_unbroken() -> None:
    judgement = judgement_of(("lost", "duplicated"), ("announced",))
    assert judgement.broken == {"lost": 0, "duplicated": 0}
    assert judgement.noted == {"announced": 0}
    assert judgement.violations == 0
    assert judgement.examples == []


def test_violations_are_counted_by_rule_and_told() -> None:
    judgement = judgement_of(("lost", "duplicated"), ("announced",))
    judgement.count("lost", "the first")
    judgement.count("lost", "three more", 3)
    judgement.count("duplicated", "another")
    assert (judgement["lost"], judgement["duplicated"]) == (4, 1)
    assert judgement.violations == 5
    assert judgement.examples == ["the first", "three more", "another"]


def test_what_is_noted_breaks_no_rule() -> None:
    judgement = judgement_of(("lost",), ("announced",))
    judgement.note("announced")
    judgement.note("announced", 4)
    assert judgement["announced"] == 5
    assert judgement.violations == 0


def test_only_a_few_examples_are_kept_but_all_are_counted() -> None:
    judgement = judgement_of(("lost",))
    for number in range(3 * MAX_EXAMPLES):
        judgement.count("lost", f"message {number}")
    assert judgement["lost"] == 3 * MAX_EXAMPLES
    assert judgement.examples == [f"message {number}" for number in range(MAX_EXAMPLES)]


def test_an_unknown_rule_is_an_error() -> None:
    judgement = judgement_of(("lost",))
    with pytest.raises(KeyError):
        judgement["found"]
    with pytest.raises(KeyError):
        judgement.count("found", "what nobody declared")
    with pytest.raises(KeyError):
        judgement.note("found")


def test_two_judgements_do_not_share_their_counts() -> None:
    first, second = judgement_of(("lost",)), judgement_of(("lost",))
    first.count("lost", "one")
    assert second == judgement_of(("lost",))


def test_the_judgements_of_several_services_are_added() -> None:
    first = Judgement({"lost": 2, "unwanted": 0}, {"announced": 1}, ["a"] * 8)
    second = Judgement({"lost": 1, "cheated": 4}, {"announced": 2, "late": 3}, ["b"] * 8)
    both = merged([first, second])
    assert both.broken == {"lost": 3, "unwanted": 0, "cheated": 4}
    assert both.noted == {"announced": 3, "late": 3}
    assert both.violations == 7
    assert both.examples == ["a"] * 8 + ["b"] * 2
    both.count("lost", "more")
    assert first["lost"] == 2
