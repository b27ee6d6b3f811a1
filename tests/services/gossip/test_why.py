"""A sender's rate always has a reason: a code for programs, a sentence for people."""

from __future__ import annotations

import pytest

from penstock.services.gossip.laws.law import Cause
from penstock.services.gossip.parameters import GossipParameters, Law
from penstock.services.gossip.peer import Peer
from penstock.services.gossip.why import SENTENCES, sentence, why


def peer(law: Law) -> Peer:
    made = Peer("me", GossipParameters(law=law), 1, now=0)
    made.adaptation.average_tokens = 0.0
    return made


@pytest.mark.parametrize(
    ("law", "age", "words"),
    [
        ("paper", 4.0, "congestion: a buffer of 90 events drops them at age 4.0, below"),
        ("paper", 6.0, "the rate is held"),
        ("paper", 8.0, "the rate is rising"),
        ("none", 4.0, "does not adapt"),
    ],
)
def test_the_papers_law_explains_itself_by_age(law: Law, age: float, words: str) -> None:
    sender = peer(law)
    sender.adaptation.average_age = age
    assert words in why(sender, 0, now=0).cause


@pytest.mark.parametrize(
    ("copies", "words"),
    [(20, "congestion: 2.00 copies"), (34, "the rate is held"), (60, "the rate is rising")],
)
def test_the_improved_law_explains_itself_by_copies(copies: int, words: str) -> None:
    sender = peer("improved")
    sender.adaptation.published(10)
    sender.adaptation.arrived(copies, [])
    assert words in why(sender, 0, now=0).cause


def test_an_unused_rate_is_no_cause() -> None:
    sender = peer("improved")
    sender.adaptation.average_tokens = 9.0
    answer = why(sender, 42, now=0)
    assert "uses less" in answer.cause
    assert (answer.token, answer.peer, answer.own_buffer) == (42, "me", 90)


def test_every_cause_has_a_sentence_of_its_own() -> None:
    assert list(SENTENCES) == list(Cause)
    assert len(set(SENTENCES.values())) == len(Cause)


def test_the_sentence_is_that_of_the_code() -> None:
    sender = peer("paper")
    sender.adaptation.average_age = 8.0
    assert sender.adaptation.cause is Cause.AGE_ABOVE_MARKS
    assert sentence(sender) == SENTENCES[Cause.AGE_ABOVE_MARKS]
