"""The bytes of a batch, and hostile bytes.

Damage is caught by the checksum; an attacker computes the checksum anew, so everything behind it is
attacked a second time with a checksum that is right.  Either way there are two outcomes: a batch
whose rows can be read, or ``MalformedBlock``.
"""

from __future__ import annotations

import mmap
import struct
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.block import (
    BlockTooLarge,
    MalformedBlock,
    block_size,
    decode_block,
    encode_block,
)
from penstock.content.rows.columns import AttributeType, Column, Dictionary, offsets_of
from penstock.content.rows.layout import (
    BLOCK_VERSION,
    DESCRIPTOR,
    HEADER_BYTES,
    MAX_BLOCK_BYTES,
    MAX_COLUMNS,
    padded,
)

moderate = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ROWS: dict[str, list[Row]] = {
    "no rows": [],
    "no attributes and no payload": [({}, b""), ({}, b"")],
    "one message": [({"topic": "orders", "price": 9.5}, b"payload")],
    "absences": [({"a": 1, "s": "x"}, b"1"), ({}, b""), ({"s": ""}, b"333")],
    "mixed types": [({"a": value}, b"") for value in ("x", 1, 2.5, True, b"y", "x")],
    "many rows": [({"n": row, "s": f"v{row % 3}"}, b"p" * (row % 4)) for row in range(20)],
}
EXAMPLES = {name: bytes(Batch.from_rows(rows).encode()) for name, rows in ROWS.items()}
examples = pytest.mark.parametrize("data", list(EXAMPLES.values()), ids=list(EXAMPLES))


def sealed(data: bytes | bytearray) -> bytes:
    """The same bytes under a checksum that is right."""
    return struct.pack("<Q", xxh3_64_intdigest(data[8:])) + bytes(data[8:])


def read_everything(data: bytes) -> bool:
    """Whether the bytes are a batch; anything but an answer or ``MalformedBlock`` fails the test.

    What is accepted must be a batch in every respect: each way of reading it agrees, rows can be
    taken from it, and its rows encoded anew are the same rows.
    """
    try:
        batch = Batch.decode(data)
        payloads = batch.payload_rows()
    except MalformedBlock:
        return False
    try:
        batch.validate()
    except MalformedBlock:
        with pytest.raises(MalformedBlock):
            batch.attribute_rows()
        return False
    attributes = batch.attribute_rows()
    assert len(attributes) == len(payloads) == len(batch)
    for row in range(len(batch)):
        assert batch.attributes(row).keys() == attributes[row].keys()
        assert bytes(batch.payload(row)) == payloads[row]
    rebuilt = Batch.from_rows(list(zip(attributes, payloads, strict=True)))
    assert rebuilt.has_same_rows(batch)
    for taken in (batch.take(np.arange(0, len(batch), 2)), batch.slice(0, len(batch) - 1)):
        assert Batch.decode(taken.encode()).has_same_rows(taken)
    return True


@examples
def test_an_untouched_block_is_read(data: bytes) -> None:
    assert read_everything(data)
    assert sealed(data) == data


@examples
def test_every_flipped_bit_is_noticed(data: bytes) -> None:
    for place in range(len(data)):
        for flip in [*(1 << bit for bit in range(8)), 0xFF]:
            damaged = bytearray(data)
            damaged[place] ^= flip
            with pytest.raises(MalformedBlock):
                Batch.decode(bytes(damaged))


@examples
def test_every_truncation_and_extension_is_noticed(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(MalformedBlock):
            Batch.decode(data[:length])
    for extra in range(1, 25):
        with pytest.raises(MalformedBlock):
            Batch.decode(data + bytes(extra))


@examples
def test_every_changed_byte_under_a_right_checksum_is_refused_or_read(data: bytes) -> None:
    for place in range(8, len(data)):
        for flip in [*(1 << bit for bit in range(8)), data[place], data[place] ^ 0xFF]:
            changed = bytearray(data)
            changed[place] ^= flip
            read_everything(sealed(changed))


@examples
def test_every_truncation_under_a_right_checksum_is_refused(data: bytes) -> None:
    for length in range(8, len(data)):
        assert not read_everything(sealed(data[:length]))
    for extra in (8, 16, 24):
        assert not read_everything(sealed(data + bytes(extra)))


extremes = st.sampled_from([0, 1, 2, 7, 8, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1])
mutations = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from([1, 2, 4, 8]), extremes | st.integers(0, 99)),
    min_size=1,
    max_size=6,
)


@moderate
@given(st.sampled_from(list(EXAMPLES.values())), mutations, st.integers(-3, 3))
def test_several_changed_fields_under_a_right_checksum_are_refused_or_read(
    data: bytes, changes: list[tuple[int, int, int]], grown_by_words: int
) -> None:
    changed = bytearray(data)
    if grown_by_words < 0:
        del changed[len(changed) + 8 * grown_by_words :]
    else:
        changed += bytes(8 * grown_by_words)
    for place, width, value in changes:
        # Most fields that matter stand at multiples of their width, near the front.
        at = 8 + place % max(1, len(changed) - 8 - width) // width * width
        field = (value % 256**width).to_bytes(width, "little")
        changed[at : at + width] = field
    read_everything(sealed(changed))


@moderate
@given(
    st.integers(0, 4),
    st.integers(0, 6),
    st.integers(0, 24),
    st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 0x61, 0xFF]), max_size=160),
)
def test_arbitrary_bytes_behind_a_right_header_are_refused_or_read(
    columns: int, rows: int, payload_bytes: int, body: list[int]
) -> None:
    shape = struct.pack("<HHIII", BLOCK_VERSION, columns, rows, payload_bytes, 0)
    whole = bytes(8) + shape + bytes(body)
    read_everything(sealed(whole + bytes(-len(whole) % 8)))


@moderate
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    assert not read_everything(data)


def count_fields(data: bytes) -> list[tuple[int, int]]:
    """Where the counts stand: place and width of each, in the header and in the descriptors."""
    columns = int.from_bytes(data[10:12], "little")
    fields = [(10, 2), (12, 4), (16, 4)]
    for at in range(HEADER_BYTES, HEADER_BYTES + DESCRIPTOR.size * columns, DESCRIPTOR.size):
        fields += [(at, 2), (at + 4, 4), (at + 8, 4)]
    return fields


@examples
def test_a_huge_count_is_refused_without_being_allocated(data: bytes) -> None:
    tracemalloc.start()
    try:
        for at, width in count_fields(data):
            for value in (256**width - 1, 256**width // 2, 256**width // 2 - 1):
                changed = bytearray(data)
                changed[at : at + width] = value.to_bytes(width, "little")
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                assert not read_everything(sealed(changed))
                _, peak = tracemalloc.get_traced_memory()
                assert peak - before < 1 << 18, (at, value)
    finally:
        tracemalloc.stop()


def block_of(*columns: Column, rows: int = 1) -> bytes:
    return encode_block(rows, columns, offsets_of([b""] * rows), b"")


def integers(name: str, *numbers: int) -> Column:
    return Column(name, AttributeType.INT, np.array(numbers, dtype="<i8"))


def strings(codes: list[int], offsets: list[int], data: bytes) -> Column:
    dictionary = Dictionary(np.array(offsets, dtype="<u4"), data, text=True)
    return Column("s", AttributeType.STRING, np.array(codes, "<u1"), None, dictionary)


def with_field(data: bytes, at: int, format: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(format, changed, at, value)
    return sealed(changed)


ONE_INTEGER = block_of(integers("a", 7))
HALF_PRESENT = Column(
    "a", AttributeType.FLOAT, np.array([1.0, 0.0]), np.array([True, False], np.bool_)
)

CRAFTED: dict[str, tuple[Callable[[], bytes], str]] = {
    "another version": (lambda: with_field(ONE_INTEGER, 8, "<H", 2), "version 2; this program"),
    "an odd length": (lambda: sealed(ONE_INTEGER + b"x"), "a multiple of 8; this one has 65"),
    "reserved bytes": (lambda: with_field(ONE_INTEGER, 20, "<I", 1), "reserved bytes"),
    "unknown type": (lambda: with_field(ONE_INTEGER, 26, "<B", 9), "'a' has the unknown type 9"),
    "unknown flags": (lambda: with_field(ONE_INTEGER, 27, "<B", 6), "'a' has unknown flags 0x6"),
    "numbers with a dictionary": (
        lambda: with_field(ONE_INTEGER, 28, "<I", 1),
        "'a' has a dictionary",
    ),
    "name over the end": (lambda: with_field(ONE_INTEGER, 24, "<H", 99), "names run over"),
    "name not UTF-8": (lambda: with_field(ONE_INTEGER, 40, "<B", 0xFF), "name is not UTF-8"),
    "a column too many": (lambda: with_field(ONE_INTEGER, 10, "<H", 9), "9 columns do not fit"),
    "a column too few": (lambda: with_field(ONE_INTEGER, 10, "<H", 0), "bytes between"),
    "column over the end": (
        lambda: with_field(block_of(strings([0], [0, 1], b"x")), 32, "<I", 99),
        "'s' runs over",
    ),
    "columns out of order": (lambda: block_of(integers("b", 1), integers("a", 1)), "ascending"),
    "a column twice": (lambda: block_of(integers("a", 1), integers("a", 1)), "ascending"),
    "two types in one row": (
        lambda: block_of(integers("a", 1, 2), HALF_PRESENT, rows=2),
        "'a' with two types",
    ),
    "neither true nor false": (
        lambda: block_of(Column("a", AttributeType.BOOL, np.array([2], "<u1"))),
        "'a' holds a boolean",
    ),
    "a code without a value": (lambda: block_of(strings([1], [0, 1], b"x")), "'s' has a code"),
    "a code into nothing": (lambda: block_of(strings([0], [0], b"")), "'s' has a code"),
    "a value twice": (lambda: block_of(strings([0], [0, 1, 2], b"xx")), "'s' repeats a value"),
    "a string not UTF-8": (lambda: block_of(strings([0], [0, 1], b"\xff")), "'s' holds a string"),
    "a surrogate": (lambda: block_of(strings([0], [0, 3], b"\xed\xa0\x80")), "'s' holds a string"),
    "falling offsets": (lambda: block_of(strings([0], [0, 2, 1, 3], b"xyz")), "'s' are not asc"),
    "offsets from elsewhere": (lambda: block_of(strings([0], [1, 2], b"xy")), "'s' are not asc"),
    "offsets beyond": (lambda: block_of(strings([0], [0, 9], b"xy")), "'s' are not asc"),
    "falling payload offsets": (
        lambda: encode_block(2, (), np.array([0, 3, 2], "<u4"), b"xy"),
        "offsets of payload",
    ),
    "payloads that end early": (
        lambda: encode_block(1, (), np.array([0, 1], "<u4"), b"xy"),
        "offsets of payload",
    ),
}


@pytest.mark.parametrize(("craft", "why"), list(CRAFTED.values()), ids=list(CRAFTED))
def test_each_lie_is_refused_with_its_reason(craft: Callable[[], bytes], why: str) -> None:
    with pytest.raises(MalformedBlock, match=why):
        Batch.decode(craft()).validate()


def test_the_layout_is_the_documented_one() -> None:
    batch = Batch.from_rows([({"id": 258}, b"abc"), ({"s": "x"}, b"")])
    assert bytes(batch.encode())[8:].hex(" ", 8).split() == [
        "0100020002000000",  # version 1, two columns, two rows
        "0300000000000000",  # three bytes of payload, reserved
        "0200020100000000",  # a name of 2 bytes, INT, present in some rows, no entries
        "0000000001000101",  # no dictionary; a name of 1 byte, STRING, present in some rows
        "0200000001000000",  # two entries (one is the filler of the row that has none), one byte
        "6964730000000000",  # "id", "s"
        "0100000000000000",  # id is in row 0
        "0201000000000000",  # 258
        "0000000000000000",  # filler
        "0200000000000000",  # s is in row 1
        "0001000000000000",  # codes
        "0000000000000000",  # offsets 0, 0
        "0100000000000000",  # and 1
        "7800000000000000",  # "x"
        "0000000003000000",  # payload offsets 0, 3
        "0300000000000000",  # and 3
        "6162630000000000",  # "abc"
    ]


@examples
def test_the_size_is_the_sum_of_padded_regions(data: bytes) -> None:
    batch = Batch.decode(data)
    assert block_size(len(batch), batch.columns, len(batch.payloads[1])) == len(data)
    assert len(data) % 8 == 0
    assert [padded(length) for length in (0, 1, 7, 8, 9)] == [0, 8, 8, 8, 16]


@examples
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_can_be_decoded(data: bytes, kind: type) -> None:
    block = decode_block(kind(data))
    assert block.rows == len(Batch.decode(data))
    assert bytes(block.data) == data


def test_a_block_longer_than_its_offsets_reach_is_refused_unread() -> None:
    with (
        mmap.mmap(-1, MAX_BLOCK_BYTES + 9) as region,
        memoryview(region) as data,
        pytest.raises(MalformedBlock, match=str(MAX_BLOCK_BYTES)),
    ):
        decode_block(data)


def test_a_batch_longer_than_a_block_is_not_encoded() -> None:
    length = MAX_BLOCK_BYTES - 7
    with mmap.mmap(-1, length) as region, memoryview(region) as data:
        offsets = np.array([0, length], dtype="<u4")
        with pytest.raises(BlockTooLarge, match="publish fewer rows at once"):
            encode_block(1, (), offsets, data)


def test_more_columns_than_the_header_can_count_are_not_encoded() -> None:
    columns = (integers("a", 1),) * (MAX_COLUMNS + 1)
    with pytest.raises(BlockTooLarge, match=r"65536 columns.*fewer distinct attribute names"):
        block_of(*columns)
