"""The union that a decoder accepts."""

from types import SimpleNamespace

from penstock.content.codec.vocabulary import union_of


def test_a_union_has_every_type(kinds: SimpleNamespace) -> None:
    assert union_of(iter(kinds.every)) == kinds.Note | kinds.Rows | kinds.Stretch
    assert union_of([kinds.Note]) is kinds.Note
