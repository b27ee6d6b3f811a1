"""Candidates for covers, against a comparison with every flow."""

from __future__ import annotations

from penstock.content.bloom.encoding import encode_filter
from penstock.content.selectors.parser import parse
from penstock.services.datagram.publisher.cover_index import CoverIndex

SELECTORS = (
    "",
    "FALSE",
    "turn < 4",
    "kind = 'a'",
    "kind = 'b'",
    "kind IN ('a', 'b')",
    "kind = 'a' AND turn < 4",
    "kind = 'a' AND turn = 3",
    "kind = 'a' OR turn = 3",
    "kind IN ('a', 'b') AND size = 7",
    "size = 7",
)


ENCODINGS = [encode_filter(parse(text)) for text in SELECTORS]
SLOTS = range(len(ENCODINGS))


def index_of(slots: list[int]) -> CoverIndex:
    index = CoverIndex(lambda: slots)
    for slot in SLOTS:
        index.add(slot, ENCODINGS[slot])
    for slot in SLOTS:
        if slot not in slots:
            index.remove(slot, ENCODINGS[slot])
    return index


def test_no_cover_is_missed() -> None:
    for left in (list(SLOTS), list(SLOTS[::2]), list(SLOTS[1::2])):
        index = index_of(left)
        for asked in ENCODINGS:
            covering = {slot for slot in left if ENCODINGS[slot].may_cover(asked)}
            covered = {slot for slot in left if asked.may_cover(ENCODINGS[slot])}
            assert covering <= index.may_cover(asked) <= set(left)
            assert covered <= index.may_be_covered(asked) <= set(left)


def test_flows_with_other_values_are_hardly_compared() -> None:
    index = CoverIndex(lambda: range(1000))
    for slot in range(1000):
        index.add(slot, encode_filter(parse(f"topic = {slot}")))
    compared = [
        len(index.may_cover(each)) + len(index.may_be_covered(each))
        for each in (encode_filter(parse(f"topic = {key}")) for key in range(2000, 2100))
    ]
    assert sum(compared) / len(compared) < 60


def test_a_value_that_all_flows_ask_for_does_not_make_them_candidates() -> None:
    index = CoverIndex(lambda: range(1000))
    for slot in range(1000):
        index.add(slot, encode_filter(parse(f"region = 'eu' AND topic = {slot}")))
    asked = encode_filter(parse("region = 'eu' AND topic = 2000"))
    assert len(index.may_cover(asked)) < 100
