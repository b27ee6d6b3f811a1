"""Losses that publication records reveal (Sections III-B 3 and III-C).

A message carries the encodings of the ``k`` messages that were published before it.  A subscriber
that receives the numbers i and j next to each other has a gap of g = j - i - 1:

1. Each message of the gap that the record covers and that matches one of the subscriber's filters
   was lost.
2. If the record reveals no loss and covers the gap, a message arrived and nothing else happened.
3. If it reveals none and does not cover the gap, none is assumed, and the message counts as
   (1 - ρ)^u: the probability that none of the u messages which the record does not tell about was
   wanted, ρ being the part of the publisher's messages that matches.  u is g - k at least.
4. A message that matches only encodings which are not exact (``bloom/encoding``, rule 6) may have
   been lost or may never have been wanted.  The record does not tell about it: it is one of the u.
   Such a match taken for a loss makes every unwanted message outside a range a loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from penstock.content.bloom.encoding import (
    PAPER_SHAPE,
    FilterEncoding,
    encoding_bytes,
    encoding_from_bytes,
)

ENCODING_BYTES: Final = PAPER_SHAPE.bits // 8


class RecordReading(msgspec.Struct, frozen=True, gc=False):
    """What a message says about those before it."""

    lost_messages: int
    weight: float
    """How much the message counts in the open loss interval."""


NOTHING_LOST: Final = RecordReading(0, 1.0)


def write_record(encodings: Iterable[int]) -> bytes:
    """The record of these messages, newest first."""
    return b"".join(encoding_bytes(each) for each in encodings)


def read_record(
    record: bytes, gap: int, filters: Iterable[FilterEncoding], matching_part: float
) -> RecordReading:
    """What became of the ``gap`` messages before this one; ``matching_part`` is ρ."""
    if gap <= 0:
        return NOTHING_LOST
    wanted = tuple(filters)
    covered = min(gap, len(record) // ENCODING_BYTES)
    lost, untold = 0, gap - covered
    for at in range(covered):
        bits = encoding_from_bytes(record[at * ENCODING_BYTES : (at + 1) * ENCODING_BYTES])
        matched = [each.exact for each in wanted if each.matches(bits)]
        lost += any(matched)
        untold += bool(matched) and not any(matched)
    if lost or not untold:
        return RecordReading(lost, 1.0)
    return RecordReading(0, (1.0 - min(1.0, max(0.0, matching_part))) ** untold)
