"""Tokens: each order has its own, and each is settled once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.tokens import Tokens


@settings(deadline=None)
@given(st.lists(st.sampled_from(["pubend", "edge"])), st.data())
def test_an_answer_in_any_order_finds_its_owner(owners: list[str], data: st.DataObject) -> None:
    tokens = Tokens()
    taken = {tokens.take(owner): owner for owner in owners}
    assert len(taken) == len(tokens) == len(owners)
    for token in data.draw(st.permutations(list(taken))):
        assert tokens.settle(token) == taken[token]
    assert len(tokens) == 0


def test_an_order_is_answered_once() -> None:
    tokens = Tokens()
    token = tokens.take("pubend")
    assert tokens.settle(token) == "pubend"
    assert tokens.settle(token) is None


def test_a_token_that_was_never_taken_has_no_owner() -> None:
    assert Tokens().settle(1) is None


def test_a_settled_token_is_not_used_again() -> None:
    tokens = Tokens()
    first = tokens.take("pubend")
    tokens.settle(first)
    assert tokens.take("pubend") != first
