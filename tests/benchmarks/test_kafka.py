"""Kafka's record batches and requests as bytes; no broker is needed."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers import kafka_requests as requests
from benchmarks.peers.kafka_records import (
    BEFORE_CHECKSUM,
    HEAD_BYTES,
    BatchHead,
    batch_heads,
    payloads_of,
    record_batch,
    take_varint,
    values,
    varint,
)

NOW_MS = 1_700_000_000_000


def crc32c(data: bytes) -> int:
    """Castagnoli's polynomial bit by bit, as RFC 3720 describes it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


CHECKSUMS = [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)]
"""The last is of RFC 3720, B.4."""


@pytest.mark.parametrize(("data", "expected"), CHECKSUMS)
def test_the_checksum_is_castagnolis(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


@pytest.mark.parametrize(("data", "expected"), CHECKSUMS)
def test_the_wheel_of_the_benchmark_computes_the_same(data: bytes, expected: int) -> None:
    wheel = pytest.importorskip("crc32c", reason="it is in benchmarks/requirements.txt")
    assert wheel.crc32c(data) == expected


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (-65, "8101"), (300, "d804")],
)
def test_numbers_are_zigzag_varints(number: int, encoded: str) -> None:
    assert varint(number).hex() == encoded
    assert take_varint(bytes.fromhex(encoded), 0) == (number, len(encoded) // 2)


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=3))
def test_every_number_round_trips(number: int, before: bytes) -> None:
    encoded = varint(number)
    assert take_varint(before + encoded, len(before)) == (number, len(before) + len(encoded))


# Field by field as Kafka's documentation lists them (message format: record batch, record).
TWO_RECORDS = bytes.fromhex(
    "0000000000000000"  # baseOffset
    "00000043"  # batchLength
    "00000000"  # partitionLeaderEpoch
    "02"  # magic
    "98139248"  # crc
    "0000"  # attributes
    "00000001"  # lastOffsetDelta
    "0000018bcfe56800"  # baseTimestamp
    "0000018bcfe56800"  # maxTimestamp
    "ffffffffffffffff"  # producerId
    "ffff"  # producerEpoch
    "ffffffff"  # baseSequence
    "00000002"  # records
    "10"
    "00"
    "00"
    "00"
    "01"
    "04"
    "6869"
    "00"  # length, attributes, timestampDelta, offsetDelta,
    "10"
    "00"
    "00"
    "02"
    "01"
    "04"
    "796f"
    "00"  # no key, valueLength, value, no headers
)


def test_a_batch_has_the_documented_bytes() -> None:
    assert record_batch([b"hi", b"yo"], NOW_MS, crc32c) == TWO_RECORDS
    (head,) = batch_heads(TWO_RECORDS)
    assert head == BatchHead(0, 2, HEAD_BYTES, len(TWO_RECORDS), 2)
    assert payloads_of(TWO_RECORDS, head, 2) == [b"hi", b"yo"]


def _at_offset(batch: bytes, offset: int) -> bytes:
    """As the broker returns it: with its offset, which the checksum does not cover."""
    return struct.pack(">q", offset) + batch[8:]


@given(
    size=st.integers(0, 300),
    counts=st.lists(st.integers(1, 70), min_size=1, max_size=4),
    cut=st.integers(0, 1000),
)
def test_payloads_are_decoded_from_batches_of_which_the_last_may_be_truncated(
    size: int, counts: list[int], cut: int
) -> None:
    sent = [[bytes([number]) * size for number in range(count)] for count in counts]
    firsts = [sum(counts[:at]) for at in range(len(counts))]
    batches = [
        _at_offset(record_batch(payloads, NOW_MS, lambda checked: 0), first)
        for first, payloads in zip(firsts, sent, strict=True)
    ]
    cut = min(cut, len(batches[-1]))
    data = b"".join(batches)[: -cut or None]
    whole = len(counts) - (cut > 0)
    heads = list(batch_heads(data))
    assert [(head.first, head.following) for head in heads] == list(
        pairwise([*firsts, sum(counts)])
    )[:whole]
    for head, payloads in zip(heads, sent, strict=False):
        assert payloads_of(data, head, size) == payloads
        assert list(values(data, head)) == payloads


def test_records_of_another_form_are_decoded_one_by_one() -> None:
    # With a key, a time delta, and a header: as other clients write them.
    records = b"".join(
        varint(len(record)) + record
        for record in (
            b"\x00" + varint(700) + varint(0) + varint(1) + b"k" + varint(2) + b"hi" + b"\x00",
            b"\x00" + varint(0) + varint(1) + b"\x01" + varint(2) + b"yo" + b"\x02\x02a\x02b",
        )
    )
    head = bytearray(TWO_RECORDS[:HEAD_BYTES])
    struct.pack_into(">i", head, 8, HEAD_BYTES - 12 + len(records))
    data = bytes(head) + records
    (found,) = batch_heads(data)
    assert payloads_of(data, found, 2) == [b"hi", b"yo"]


def test_compressed_or_older_batches_are_refused() -> None:
    compressed = bytearray(TWO_RECORDS)
    compressed[BEFORE_CHECKSUM.size + 1] = 4
    with pytest.raises(ValueError, match="attributes 0x4"):
        list(batch_heads(bytes(compressed)))
    older = bytearray(TWO_RECORDS)
    older[16] = 1
    with pytest.raises(ValueError, match="format 1"):
        list(batch_heads(bytes(older)))


def test_a_produce_request_has_the_documented_bytes() -> None:
    expected = (
        struct.pack(">hhi", 0, 7, 9)  # Produce, version 7, the number of the request
        + b"\x00\x05bench"
        + struct.pack(">hhi", -1, 1, 30_000)  # no transaction, by the leader, within 30 s
        + struct.pack(">i", 1)
        + b"\x00\x01t"
        + struct.pack(">iii", 1, 0, 5)  # one partition, 0, of five bytes
        + b"batch"
    )
    said = requests.request(requests.PRODUCE, 9, requests.produce("t", b"batch"))
    assert said == struct.pack(">i", len(expected)) + expected


def _partition(*fields: tuple[str, int]) -> bytes:
    """An answer of topic t and partition 0."""
    return (
        struct.pack(">i", 1)
        + b"\x00\x01t"
        + struct.pack(">ii", 1, 0)
        + b"".join(struct.pack(form, value) for form, value in fields)
    )


def test_an_answer_has_the_number_of_its_request() -> None:
    body = _partition((">h", 0), (">q", 7), (">q", -1), (">q", 0)) + struct.pack(">i", 0)
    frame = struct.pack(">ii", len(body) + 4, 9) + body
    reader = requests.answer_reader()
    assert reader.feed(frame[:9]) == []
    ((number, answer),) = reader.feed(frame[9:])
    assert number == 9
    assert requests.produced(answer) == requests.OK


def test_a_fetch_answer_has_batches_or_an_error() -> None:
    throttled = struct.pack(">i", 0)
    good = _partition((">h", 0), (">q", 2), (">q", 2), (">i", 1), (">q", 1), (">q", 0))
    batches = struct.pack(">i", len(TWO_RECORDS)) + TWO_RECORDS
    assert requests.fetched(throttled + good + batches) == (requests.OK, TWO_RECORDS)
    bad = _partition((">h", 3), (">q", -1), (">q", -1), (">i", -1), (">i", -1))
    assert requests.fetched(throttled + bad) == (requests.NO_TOPIC, b"")


def test_an_answer_of_more_than_one_partition_is_refused() -> None:
    two = struct.pack(">i", 2) + b"\x00\x01t" + struct.pack(">ii", 1, 0)
    with pytest.raises(ValueError, match="2 topics"):
        requests.committed(two)


def test_the_offset_of_a_group_is_decoded() -> None:
    told = _partition((">q", 41), (">h", -1), (">h", 0))
    assert requests.offset_of(told) == (requests.OK, 41)
    nothing_yet = _partition((">q", -1), (">h", 0), (">h", 0))
    assert requests.offset_of(nothing_yet) == (requests.OK, requests.NO_OFFSET)


def test_the_errors_of_several_groups_are_decoded() -> None:
    answer = struct.pack(">ii", 0, 2) + b"\x00\x01a\x00\x00" + b"\x00\x01b\x00\x44"
    assert requests.errors_by_name(answer) == [requests.OK, requests.GROUP_HAS_MEMBERS]
