"""Who wants what of one source."""

from __future__ import annotations

from penstock.content.selectors.parser import parse
from penstock.services.datagram.forwarding.interests import SourceInterests

A, B, WIDE = parse("kind = 'a'"), parse("kind = 'b'"), parse("kind IN ('a', 'b')")


def test_links_are_named_once_and_only_where_somebody_wants_it() -> None:
    interests = SourceInterests("far")
    for link, selector in (("x", A), ("x", WIDE), ("y", B)):
        interests.add(link, selector)
    assert interests.links_wanting({"kind": "a"}) == ("x",)
    assert sorted(interests.links_wanting({"kind": "b"})) == ["x", "y"]
    assert interests.links_wanting({"kind": "c"}) == ()


def test_what_is_covered_is_not_told_upstream() -> None:
    interests = SourceInterests("far")
    assert interests.add("x", WIDE).advertise == (WIDE,)
    assert not interests.add("y", A)
    assert not interests.add_local(A)
    assert interests.advertised == (WIDE.text,)


def test_what_was_hidden_comes_out_when_its_cover_goes() -> None:
    interests = SourceInterests("far")
    interests.add("x", WIDE)
    interests.add_local(A)
    change = interests.remove("x", WIDE.text)
    assert (change.advertise, change.withdraw) == ((A,), (WIDE,))
    assert interests.remove_local(A).withdraw == (A,)
    assert interests.advertised == ()


def test_the_same_twice_and_what_was_never_there_change_nothing() -> None:
    interests = SourceInterests("far")
    interests.add("x", A)
    assert not interests.add("x", A)
    assert not interests.remove("x", B.text)
    assert not interests.remove("z", A.text)
    assert interests.selectors_of("x") == [A.text]
    assert interests.selectors_of("z") == []
