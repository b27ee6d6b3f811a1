"""Bloom encodings of filters and messages, after the content-aware paper (Section III-B 2).

1. A message is encoded as the union of the bits of its elements: for each attribute its value and,
   if ``presence_hashes`` asks for it, that it is present.
2. A filter that is a conjunction is encoded as the union of the bits of the elements that a
   matching message must have: a value where it asks for equality, and presence where it asks for
   anything that only a present attribute can be.  Other constraints add nothing.
3. A message matches when it has all bits of the filter: ``filter AND message == filter``.  Whatever
   matches exactly also matches encoded; the reverse fails now and then (false positives).
4. A filter ``f`` may cover ``g`` when ``f AND g == f``.  For conjunctions of equalities that is
   right but for false positives; a range that ``f`` asks for is not seen, so the encoding screens
   candidates and ``covering.covers`` decides.
5. A selector with alternatives (OR, IN) is a list of such encodings, of which one must match.  At
   most ``MAX_ALTERNATIVES`` are made; beyond that, constraints with several values are left out,
   which makes the encoding match more and never less.
6. An encoding is ``exact`` if nothing that the selector asks for was left out: then only false
   positives match without being selected.  An encoding of a range, a pattern or a comparison of
   attributes is not: every message that differs in such a constraint alone matches it.

With m bits, k hashes, n attributes in the message and c equalities in the filter, a message that
has none of the values matches with probability (1 - (1 - 1/m)^(kn))^(kc): at the paper's 256 bits
and 3 hashes 0.14 % for 10 attributes and 0.9 % for 20, with one equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from penstock.content.bloom.hashing import (
    MASK,
    STEP,
    column_hashes,
    mixed,
    mixed_array,
    presence_hash,
    value_hash,
)
from penstock.content.matching.normal_form import Box, Boxes, normal_form
from penstock.content.matching.value_sets import finite_values
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import Array, AttributeType, AttributeValue, Mask
from penstock.content.selectors.selector import Selector

WORD_BITS: Final = 64

MAX_ALTERNATIVES: Final = 16
"""Encodings of one selector: 512 bytes in a feedback message at the paper's size."""


class BloomShape(msgspec.Struct, frozen=True, gc=False):
    """The size of an encoding; both ends of a flow must use the same."""

    bits: int = 256
    hashes: int = 3
    presence_hashes: int = 0
    """Bits for "has this attribute": useful where messages differ in their attributes, at the price
    of fuller encodings."""

    def __post_init__(self) -> None:
        """Refuse shapes that have no encoding."""
        if self.bits <= 0 or self.bits % WORD_BITS:
            raise ValueError(f"bits must be a positive multiple of {WORD_BITS}, not {self.bits}")
        if self.hashes < 1 or self.presence_hashes < 0:
            raise ValueError("hashes must be at least 1 and presence_hashes at least 0")

    @property
    def words(self) -> int:
        """How many 64-bit words an encoding has."""
        return self.bits // WORD_BITS


PAPER_SHAPE: Final = BloomShape()


class FilterEncoding(msgspec.Struct, frozen=True, gc=False):
    """A selector's alternatives, each as the bits that a matching message must have."""

    alternatives: tuple[int, ...]
    exact: bool = True
    """Whether the selector asks for nothing else (rule 6)."""

    def matches(self, message: int) -> bool:
        """Whether an encoded message may match."""
        return any(each & message == each for each in self.alternatives)

    def may_cover(self, other: FilterEncoding) -> bool:
        """Whether everything that matches the other may match this one too (rule 4)."""
        return all(self.matches(each) for each in other.alternatives)


def encode_message(
    attributes: Mapping[str, AttributeValue], shape: BloomShape = PAPER_SHAPE
) -> int:
    """The encoding of one message, as a set of bits in an integer."""
    bits = 0
    for name, value in attributes.items():
        bits |= _value_bits(name, value, shape) | _presence_bits(name, shape)
    return bits


def encode_batch(batch: Batch, shape: BloomShape = PAPER_SHAPE) -> Array:
    """The encodings of all rows, as a matrix of 64-bit words."""
    encoded = np.zeros((len(batch), shape.words), np.uint64)
    for column in batch.columns:
        bits = np.zeros((len(batch), shape.words), np.uint64)
        if column.kind is not AttributeType.BYTES:
            distinct = _scattered(column_hashes(column), shape)
            coded = column.kind is AttributeType.STRING
            bits |= distinct[column.values] if coded else distinct
        bits |= _as_words((_presence_bits(column.name, shape),), shape)
        if column.present is not None:
            bits[~column.present] = 0
        encoded |= bits
    return encoded


def encode_filter(selector: Selector, shape: BloomShape = PAPER_SHAPE) -> FilterEncoding:
    """The encoding of a selector."""
    return encode_boxes(normal_form(selector), shape)


def encode_boxes(boxes: Boxes, shape: BloomShape = PAPER_SHAPE) -> FilterEncoding:
    """The encoding of the selector that has this normal form."""
    room = max(1, MAX_ALTERNATIVES // max(1, len(boxes)))
    exact = all(_is_exact(box, shape, room) for box in boxes)
    found = dict.fromkeys(each for box in boxes for each in _box_bits(box, shape, room))
    if len(found) > MAX_ALTERNATIVES:
        # Only what all alternatives ask for is asked; none would be left out otherwise.
        common = -1
        for each in found:
            common &= each
        return FilterEncoding((common,), exact=False)
    return FilterEncoding(tuple(found), exact)


def match_batch(filters: Sequence[FilterEncoding], encoded: Array) -> Mask:
    """A matrix (rows × filters): which messages of an encoded batch may match which filters."""
    rows, words = encoded.shape
    matched = np.zeros((rows, len(filters)), np.bool_)
    shape = BloomShape(bits=words * WORD_BITS)
    alternatives = [each for filter_ in filters for each in filter_.alternatives]
    if not alternatives:
        return matched
    wanted = _as_words(alternatives, shape)
    fits = np.ones((rows, len(alternatives)), np.bool_)
    for word in range(words):
        fits &= (encoded[:, word, None] & wanted[:, word]) == wanted[:, word]
    at = 0
    for position, filter_ in enumerate(filters):
        end = at + len(filter_.alternatives)
        matched[:, position] = fits[:, at:end].any(axis=1)
        at = end
    return matched


def expected_false_positive_rate(shape: BloomShape, *, attributes: int, equalities: int) -> float:
    """How often a message with other values matches a filter of so many equalities."""
    bits_set = (shape.hashes + shape.presence_hashes) * attributes
    filled: float = 1 - (1 - 1 / shape.bits) ** bits_set
    return float(filled ** (shape.hashes * equalities))


def encoding_bytes(bits: int, shape: BloomShape = PAPER_SHAPE) -> bytes:
    """An encoding as it travels, least significant byte first."""
    return bits.to_bytes(shape.bits // 8, "little")


def encoding_from_bytes(data: bytes | bytearray) -> int:
    """The inverse of ``encoding_bytes``."""
    return int.from_bytes(data, "little")


def _box_bits(box: Box, shape: BloomShape, room: int) -> list[int]:
    """The encodings of a conjunction: one for each choice of the values that it admits."""
    found = [0]
    for name, wanted in box.constraints:
        if wanted.absent:
            continue
        presence = _presence_bits(name, shape)
        values = finite_values(wanted)
        if values is None or len(values) * len(found) > room:
            found = [each | presence for each in found]
            continue
        choices = [_value_bits(name, value, shape) | presence for value in values]
        found = [each | choice for each in found for choice in choices]
    return found


def _is_exact(box: Box, shape: BloomShape, room: int) -> bool:
    """Whether the encodings of a conjunction hold all that it asks for."""
    if box.residuals:
        return False
    choices = 1
    for name, wanted in box.constraints:
        values = finite_values(wanted)
        if values is None or any(not _value_bits(name, value, shape) for value in values):
            return False
        choices *= len(values)
    return choices <= room


def _value_bits(name: str, value: AttributeValue, shape: BloomShape) -> int:
    hashed = value_hash(name, value)
    return 0 if hashed is None else _bits(hashed, shape.hashes, shape)


def _presence_bits(name: str, shape: BloomShape) -> int:
    return _bits(presence_hash(name), shape.presence_hashes, shape)


def _bits(hashed: int, count: int, shape: BloomShape) -> int:
    bits = 0
    for step in range(1, count + 1):
        bits |= 1 << mixed(hashed + step * STEP & MASK) % shape.bits
    return bits


def _scattered(hashes: Array, shape: BloomShape) -> Array:
    """``_bits`` of each hash, as rows of words."""
    rows = np.arange(len(hashes))
    encoded = np.zeros((len(hashes), shape.words), np.uint64)
    for step in range(1, shape.hashes + 1):
        offset = np.uint64(step * STEP & MASK)
        position = mixed_array(hashes + offset) % np.uint64(shape.bits)
        word = (position // np.uint64(WORD_BITS)).astype(np.intp)
        encoded[rows, word] |= np.uint64(1) << position % np.uint64(WORD_BITS)
    return encoded


def _as_words(encodings: Sequence[int], shape: BloomShape) -> Array:
    joined = b"".join(encoding_bytes(each, shape) for each in encodings)
    return np.frombuffer(joined, "<u8").reshape(-1, shape.words)
