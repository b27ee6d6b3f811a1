"""Candidates for covers, against a comparison with every flow."""

from __future__ import annotations

import msgspec

from penstock.content.bloom.encoding import FilterEncoding, encode_filter
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


class Entry(msgspec.Struct, frozen=True):
    key: int
    encoding: FilterEncoding


ENTRIES = [Entry(key, encode_filter(parse(text))) for key, text in enumerate(SELECTORS)]


def index_of(entries: list[Entry]) -> CoverIndex[Entry]:
    index: CoverIndex[Entry] = CoverIndex()
    for entry in ENTRIES:
        index.add(entry)
    for entry in ENTRIES:
        if entry not in entries:
            index.remove(entry)
    return index


def test_no_cover_is_missed() -> None:
    for left in (ENTRIES, ENTRIES[::2], ENTRIES[1::2]):
        index = index_of(left)
        for asked in ENTRIES:
            covering = [each for each in left if each.encoding.may_cover(asked.encoding)]
            covered = [each for each in left if asked.encoding.may_cover(each.encoding)]
            found = index.may_cover(asked.encoding)
            assert [each for each in found if each in covering] == covering
            found = index.may_be_covered(asked.encoding)
            assert [each for each in found if each in covered] == covered


def test_flows_with_other_values_are_hardly_compared() -> None:
    index: CoverIndex[Entry] = CoverIndex()
    for key in range(1000):
        index.add(Entry(key, encode_filter(parse(f"topic = {key}"))))
    compared = [
        len(index.may_cover(each)) + len(index.may_be_covered(each))
        for each in (encode_filter(parse(f"topic = {key}")) for key in range(2000, 2100))
    ]
    assert sum(compared) / len(compared) < 60
