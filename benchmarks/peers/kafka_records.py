"""Kafka's record batches (format 2): encodes and decodes payloads.

1. A batch has a head of 61 bytes.  Its checksum (CRC-32C) covers what follows it; the broker writes
   the offset and the epoch, which precede it, so that a batch can be sent repeatedly.
2. A record is its length, attributes, the deltas of its time and its offset to those of the batch,
   key, value and headers; all numbers are zigzag varints.  Ours have no key and no headers.
3. The positions of the values therefore follow from their size and their number, if every record is
   as short as possible.  A batch whose values all have that size and whose length is the sum of
   such records has no other form; any other batch is decoded record by record.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, TypeAlias

import msgspec

Checksum: TypeAlias = Callable[[bytes], int]
"""CRC-32C of some bytes."""

BEFORE_CHECKSUM: Final = struct.Struct(">qiibI")
"""First offset, length of what follows, epoch of the leader, format, checksum."""

AFTER_CHECKSUM: Final = struct.Struct(">hiqqqhii")
"""Attributes, last offset delta, first and last time, producer, its epoch, its sequence, number of
records."""

HEAD_BYTES: Final = BEFORE_CHECKSUM.size + AFTER_CHECKSUM.size
LENGTH_END: Final = 12
"""The position after the length field, from which the length counts."""

FORMAT: Final = 2
COMPRESSION: Final = 0b111
"""The bits of the attributes that name a compression; 0 means none."""

NOBODY: Final = -1
"""Producer, epoch and sequence of a producer that is not idempotent."""

NO_KEY: Final = b"\x01"
NO_HEADERS: Final = b"\x00"
ATTRIBUTES_AND_TIME: Final = b"\x00\x00"
"""No attributes, and the time of the batch."""


class BatchHead(msgspec.Struct, frozen=True):
    """The position of a batch in the bytes, and its offsets."""

    first: int
    records: int
    begin: int
    """Of the first record."""
    end: int
    following: int
    """The first offset after it."""


def varint(number: int) -> bytes:
    """A zigzag varint."""
    rest = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def take_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at this position, and the position after it."""
    rest = shift = 0
    while True:
        byte = data[at]
        at += 1
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), at
        shift += 7


@cache
def record_head(number: int, size: int) -> bytes:
    """The bytes before the value of the record with this number in its batch."""
    head = ATTRIBUTES_AND_TIME + varint(number) + NO_KEY + varint(size)
    return varint(len(head) + size + len(NO_HEADERS)) + head


def record_batch(payloads: list[bytes], now_ms: int, checksum: Checksum) -> bytes:
    """A batch of messages of one size."""
    size, count = len(payloads[0]), len(payloads)
    pieces = [AFTER_CHECKSUM.pack(0, count - 1, now_ms, now_ms, NOBODY, NOBODY, NOBODY, count)]
    for number, payload in enumerate(payloads):
        pieces += (record_head(number, size), payload, NO_HEADERS)
    checked = b"".join(pieces)
    length = BEFORE_CHECKSUM.size - LENGTH_END + len(checked)
    return BEFORE_CHECKSUM.pack(0, length, 0, FORMAT, checksum(checked)) + checked


def batch_heads(data: bytes) -> Iterator[BatchHead]:
    """The complete batches; the broker may truncate the last one."""
    at = 0
    while len(data) - at >= HEAD_BYTES:
        first, length, _, form, _ = BEFORE_CHECKSUM.unpack_from(data, at)
        end = at + LENGTH_END + length
        if end > len(data):
            return
        attributes, last, *_, records = AFTER_CHECKSUM.unpack_from(data, at + BEFORE_CHECKSUM.size)
        if form != FORMAT or attributes & COMPRESSION:
            raise ValueError(f"a record batch of format {form} with attributes {attributes:#x}")
        yield BatchHead(first, records, at + HEAD_BYTES, end, first + last + 1)
        at = end


def payloads_of(data: bytes, batch: BatchHead, size: int) -> list[bytes]:
    """The values of a batch, all of this size."""
    places, length = value_places(batch.records, size)
    if batch.end - batch.begin != length:
        return list(values(data, batch))
    begin = batch.begin
    return [data[begin + place : begin + place + size] for place in places]


@cache
def value_places(records: int, size: int) -> tuple[list[int], int]:
    """The positions of the values of this many records, and the end of the records."""
    places = []
    at = 0
    for number in range(records):
        at += len(record_head(number, size))
        places.append(at)
        at += size + len(NO_HEADERS)
    return places, at


def values(data: bytes, batch: BatchHead) -> Iterator[bytes]:
    """The values of a batch of any form; null values are empty."""
    at = batch.begin
    for _ in range(batch.records):
        length, at = take_varint(data, at)
        end = at + length
        # After the attributes: the time, the offset, and the key or its absence.
        _, at = take_varint(data, at + 1)
        _, at = take_varint(data, at)
        key, at = take_varint(data, at)
        size, at = take_varint(data, at + max(key, 0))
        yield data[at : at + max(size, 0)]
        at = end
