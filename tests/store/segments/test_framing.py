from hypothesis import given
from hypothesis import strategies as st

from penstock.store.segments.framing import (
    PADDINGS,
    RECORD_HEADER_BYTES,
    SEGMENT_HEADER_BYTES,
    TERMINATOR,
    SegmentHeader,
    checksum,
    decode_record_header,
    decode_segment_header,
    encode_record_header,
    encode_segment_header,
    framed_bytes,
)

offsets = st.integers(0, 2**26).map(lambda count: count * 8)
identities = st.integers(0, 2**64 - 1)
ticks = st.integers(0, 2**63 - 1)


@given(offsets, identities, st.integers(0, 2**32 - 1), ticks, ticks, identities)
def test_a_record_header_says_what_was_put_into_it(
    offset: int, identity: int, length: int, low: int, high: int, data_checksum: int
) -> None:
    block = encode_record_header(offset, length, 16, low, high, data_checksum, identity=identity)
    header = decode_record_header(block, 0, offset, identity=identity)
    assert header is not None
    assert (header.length, header.low, header.high) == (length, low, high)
    assert (header.data_checksum, header.group_start) == (data_checksum, offset - 16)
    assert len(block) == RECORD_HEADER_BYTES


@given(offsets, offsets, identities, identities)
def test_a_record_header_is_valid_only_where_it_was_written(
    offset: int, other_offset: int, identity: int, other_identity: int
) -> None:
    block = encode_record_header(offset, 5, 0, 1, 2, 3, identity=identity)
    elsewhere = (other_identity + other_offset - identity - offset) % 2**64 != 0
    moved = decode_record_header(block, 0, other_offset, identity=other_identity)
    assert (moved is None) == elsewhere


@given(st.integers(0, RECORD_HEADER_BYTES * 8 - 1))
def test_a_flipped_bit_invalidates_a_record_header(bit: int) -> None:
    block = bytearray(encode_record_header(4096, 5, 0, 1, 2, 3, identity=77))
    block[bit // 8] ^= 1 << bit % 8
    assert decode_record_header(bytes(block), 0, 4096, identity=77) is None


def test_a_terminator_and_a_short_block_are_no_record() -> None:
    assert decode_record_header(TERMINATOR, 0, 4096, identity=77) is None
    block = encode_record_header(4096, 5, 0, 1, 2, 3, identity=77)
    assert decode_record_header(block[:-1], 0, 4096, identity=77) is None


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_the_checksum_does_not_depend_on_how_data_is_cut(chunks: list[bytes]) -> None:
    assert checksum(chunks) == checksum([b"".join(chunks)])


@given(st.integers(0, 100))
def test_records_are_padded_to_the_alignment(length: int) -> None:
    assert framed_bytes(length) == RECORD_HEADER_BYTES + length + len(PADDINGS[length % 8])
    assert framed_bytes(length) % 8 == 0


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=80), identities, ticks)
def test_a_segment_header_says_what_was_put_into_it(name: str, identity: int, tick: int) -> None:
    header = SegmentHeader(log=name, ordinal=7, identity=identity, base_tick=tick)
    block = encode_segment_header(header)
    assert len(block) == SEGMENT_HEADER_BYTES
    assert decode_segment_header(block) == header


def test_a_bad_segment_header_says_what_is_wrong() -> None:
    block = encode_segment_header(SegmentHeader("prices", 1, 2, 3))
    assert "only 100 of the 4096 bytes" in str(decode_segment_header(block[:100]))
    assert "does not start as a segment" in str(decode_segment_header(b"x" + block[1:]))
    assert "has format 9" in str(decode_segment_header(block[:8] + b"\x09" + block[9:]))
    assert "checksum" in str(decode_segment_header(block[:200] + b"x" + block[201:]))
