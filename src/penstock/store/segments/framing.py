"""The bytes of a segment file.

1. A segment is one header block, then records back to back, each at a multiple of 8 bytes, then a
   *terminator*: the space of a record header filled with zeros.  Whatever lies behind the
   terminator has no meaning.
2. The header block names the log, the segment's ordinal in the log, the tick at which the segment
   starts, and the segment's *identity*: 64 random bits, drawn anew each time a file is put to use.
   It has a disk page of its own, so that no later write can tear it.
3. A record is a header of 40 bytes and the data, padded to 8.  The header carries the length of the
   data, the record's interval, a checksum of the data, and ``group_offset``: how far behind the
   start of its commit group the record lies (``recovery`` explains why).  It ends in a check of
   itself that is seeded with ``identity + offset``.
4. Because of that seed a record header is valid only in the file and at the place for which it was
   written.  What an earlier life left in a recycled file, and copies of records inside the data of
   other records, are never taken for records.
5. A record that covers nothing (``low == high``) is a *seal*: it says that everything before it was
   on stable storage when the log was closed.

All integers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec
import xxhash

from penstock.core.intervals import Tick

Chunk: TypeAlias = bytes | bytearray | memoryview

FORMAT_VERSION: Final = 1
SEGMENT_MAGIC: Final = b"PENSTOCK"
RECORD_MAGIC: Final = b"PnRc"

SEGMENT_HEADER_BYTES: Final = 4096  # one page: see rule 2
MAX_SEGMENT_BYTES: Final = 2**32 - 1  # lengths and group offsets are unsigned 32-bit integers
RECORD_ALIGNMENT_BYTES: Final = 8  # so that columns inside a record can be viewed as int64 arrays

_SEGMENT_FIELDS: Final = struct.Struct("<8sIIQQq")
_SEGMENT_CHECK: Final = struct.Struct("<Q")
_RECORD_FIELDS: Final = struct.Struct("<4sIIqqQ")
_RECORD_CHECK_BYTES: Final = 4
_SEED_MASK: Final = 2**64 - 1

RECORD_HEADER_BYTES: Final = _RECORD_FIELDS.size + _RECORD_CHECK_BYTES
TERMINATOR: Final = bytes(RECORD_HEADER_BYTES)
PADDINGS: Final = tuple(
    bytes(-length % RECORD_ALIGNMENT_BYTES) for length in range(RECORD_ALIGNMENT_BYTES)
)
"""What follows data, by its length modulo the alignment."""


class SegmentHeader(msgspec.Struct, frozen=True):
    """What the first block of a segment says."""

    log: str
    ordinal: int
    identity: int
    base_tick: Tick


class RecordHeader(msgspec.Struct, frozen=True, gc=False):
    """What the header of a record says, and where it stands."""

    offset: int
    end: int
    """Where the next record or the terminator stands."""
    length: int
    group_offset: int
    low: Tick
    high: Tick
    data_checksum: int

    @property
    def group_start(self) -> int:
        """Where the first record of the same commit group stands."""
        return self.offset - self.group_offset

    @property
    def data_offset(self) -> int:
        """Where the data starts."""
        return self.offset + RECORD_HEADER_BYTES

    @property
    def is_seal(self) -> bool:
        """Whether this only says that the log was closed in order."""
        return self.low == self.high


def framed_bytes(length: int) -> int:
    """How much room data of a length takes in a segment."""
    return RECORD_HEADER_BYTES + length + (-length % RECORD_ALIGNMENT_BYTES)


def checksum(chunks: Sequence[Chunk]) -> int:
    """The checksum of data, however it is cut into chunks."""
    if len(chunks) == 1:
        return xxhash.xxh3_64_intdigest(chunks[0])
    digest = xxhash.xxh3_64()
    for chunk in chunks:
        digest.update(chunk)
    return digest.intdigest()


def encode_record_header(
    offset: int,
    length: int,
    group_offset: int,
    low: Tick,
    high: Tick,
    data_checksum: int,
    *,
    identity: int,
) -> bytes:
    """The header of a record that will stand at ``offset`` of the segment ``identity``."""
    fields = _RECORD_FIELDS.pack(RECORD_MAGIC, length, group_offset, low, high, data_checksum)
    return fields + _record_check(fields, identity, offset)


def decode_record_header(
    block: bytes, position: int, offset: int, *, identity: int
) -> RecordHeader | None:
    """The header at ``position`` of a block that was read, which is ``offset`` of the file.

    None unless a record was really written at that place of that segment.
    """
    fields_end = position + _RECORD_FIELDS.size
    fields = block[position:fields_end]
    check = block[fields_end : fields_end + _RECORD_CHECK_BYTES]
    if len(check) < _RECORD_CHECK_BYTES or check != _record_check(fields, identity, offset):
        return None
    magic, length, group_offset, low, high, data_checksum = _RECORD_FIELDS.unpack(fields)
    if magic != RECORD_MAGIC:
        return None
    end = offset + framed_bytes(length)
    return RecordHeader(offset, end, length, group_offset, low, high, data_checksum)


def encode_segment_header(header: SegmentHeader) -> bytes:
    """The first block of a segment."""
    name = header.log.encode()
    fields = _SEGMENT_FIELDS.pack(
        SEGMENT_MAGIC,
        FORMAT_VERSION,
        len(name),
        header.ordinal,
        header.identity,
        header.base_tick,
    )
    block = (fields + name).ljust(SEGMENT_HEADER_BYTES - _SEGMENT_CHECK.size, b"\0")
    return block + _SEGMENT_CHECK.pack(xxhash.xxh3_64_intdigest(block))


def decode_segment_header(block: bytes) -> SegmentHeader | str:
    """What a first block says, or what is wrong with it."""
    if len(block) < SEGMENT_HEADER_BYTES:
        return f"the file has only {len(block)} of the {SEGMENT_HEADER_BYTES} bytes of its header"
    body, check = block[: -_SEGMENT_CHECK.size], block[-_SEGMENT_CHECK.size :]
    magic, version, name_length, ordinal, identity, base_tick = _SEGMENT_FIELDS.unpack_from(body)
    if magic != SEGMENT_MAGIC:
        return "the file does not start as a segment does"
    if version != FORMAT_VERSION:
        return f"the segment has format {version}; this version of Penstock reads {FORMAT_VERSION}"
    if _SEGMENT_CHECK.pack(xxhash.xxh3_64_intdigest(body)) != check:
        return "the checksum of the segment's header is wrong"
    name = body[_SEGMENT_FIELDS.size : _SEGMENT_FIELDS.size + name_length].decode()
    return SegmentHeader(log=name, ordinal=ordinal, identity=identity, base_tick=base_tick)


def _record_check(fields: bytes, identity: int, offset: int) -> bytes:
    seed = (identity + offset) & _SEED_MASK
    return xxhash.xxh3_64_digest(fields, seed)[:_RECORD_CHECK_BYTES]
