"""The layout of a block: the bytes of one batch.

Everything is little-endian, and every region is padded to eight bytes so that numpy and Arrow view
it in place:

1. header (24 bytes): checksum of all that follows it, the rest of the header included, then
   version, column count, rows, payload bytes, and four bytes that are zero;
2. one descriptor of 12 bytes for each column: length of its name, type, flags (whether a presence
   bitmap follows), dictionary entries, dictionary bytes;
3. the column names, one after another;
4. for each column: presence bitmap (least significant bit first, as in Arrow), values or codes,
   and for strings and bytes the dictionary's offsets and bytes;
5. payload offsets and payload bytes, the last regions, so that payloads are found without reading
   the columns.

This module is the only place that states these numbers.  ``block`` encodes and decodes by it;
``speedups/generate_layout.py`` writes the same numbers for the compiled parts, and
``tests/content/rows/test_layout.py`` fails when the generated files are out of date.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

ALIGNMENT: Final = 8
"""The widest value of a column; a region that starts at a multiple of it can be viewed in place."""

BLOCK_VERSION: Final = 1

HEADER_FIELDS: Final = {
    "checksum": "Q",
    "version": "H",
    "columns": "H",
    "rows": "I",
    "payload_bytes": "I",
    "reserved": "I",
}
"""Field names and their ``struct`` codes, in order."""

DESCRIPTOR_FIELDS: Final = {
    "name_bytes": "H",
    "kind": "B",
    "flags": "B",
    "entries": "I",
    "dictionary_bytes": "I",
}

HAS_PRESENCE: Final = 1
"""The only flag of a descriptor: the column starts with a presence bitmap."""

OFFSET_BYTES: Final = 4

ONE_BYTE_CODES: Final = 1 << 8
TWO_BYTE_CODES: Final = 1 << 16
"""A dictionary of at most this many entries has codes of one byte, or of two."""

MAX_NAME_BYTES: Final = 2**16 - 1
"""What the descriptor's 16-bit length of a name can say."""

MAX_COLUMNS: Final = 2**16 - 1
"""What the header's 16-bit count can say."""

MAX_OFFSET: Final = 2**31 - 1
"""Arrow's offsets are signed 32-bit integers."""

MAX_BLOCK_BYTES: Final = MAX_OFFSET
"""No offset points further; a frame limit is far below it in practice."""


def packing(fields: Mapping[str, str]) -> struct.Struct:
    """The ``struct`` of fields that lie one behind the other, without padding."""
    return struct.Struct("<" + "".join(fields.values()))


def places(fields: Mapping[str, str]) -> dict[str, int]:
    """The offset of each field from the start of the first one."""
    found = {}
    at = 0
    for name, code in fields.items():
        found[name] = at
        at += struct.calcsize("<" + code)
    return found


CHECKSUM: Final = packing({"checksum": HEADER_FIELDS["checksum"]})
SHAPE: Final = packing({name: HEADER_FIELDS[name] for name in list(HEADER_FIELDS)[1:]})
"""The header behind the checksum, which covers it: these counts decide how the rest is read."""
HEADER_BYTES: Final = CHECKSUM.size + SHAPE.size
DESCRIPTOR: Final = packing(DESCRIPTOR_FIELDS)


_DESCRIPTOR_BYTES: Final = DESCRIPTOR.size
_BELOW_ALIGNMENT: Final = ALIGNMENT - 1
_ALIGNED: Final = ~_BELOW_ALIGNMENT
# The functions below add padding themselves where a call of ``padded`` would show in the time that
# it takes to weigh a batch.


def padded(length: int) -> int:
    """The length with its padding to a multiple of ``ALIGNMENT``."""
    return (length + _BELOW_ALIGNMENT) & _ALIGNED


def padding(length: int) -> int:
    """How many bytes follow a region of this length."""
    return -length & _BELOW_ALIGNMENT


def presence_bytes(rows: int) -> int:
    """The length of a presence bitmap, without its padding."""
    return (rows + 7) // 8


def offsets_bytes(count: int) -> int:
    """The room of the offsets of this number of parts: one more than there are parts."""
    return (OFFSET_BYTES * (count + 1) + _BELOW_ALIGNMENT) & _ALIGNED


def descriptors_bytes(columns: int) -> int:
    """The room of the descriptors of this number of columns."""
    return (_DESCRIPTOR_BYTES * columns + _BELOW_ALIGNMENT) & _ALIGNED


def payloads_bytes(rows: int, payload_bytes: int) -> int:
    """The room of the last two regions, payload offsets and payload bytes."""
    return offsets_bytes(rows) + ((payload_bytes + _BELOW_ALIGNMENT) & _ALIGNED)


NO_DICTIONARY: Final = -1


def column_bytes(
    rows: int, width: int, presence: bool, entries: int = NO_DICTIONARY, dictionary_bytes: int = 0
) -> int:
    """The room of one column whose values or codes have ``width`` bytes each."""
    size = (rows * width + _BELOW_ALIGNMENT) & _ALIGNED
    if presence:
        size += padded(presence_bytes(rows))
    if entries >= 0:
        size += offsets_bytes(entries)
        size += (dictionary_bytes + _BELOW_ALIGNMENT) & _ALIGNED
    return size


def code_bytes(entries: int) -> int:
    """The width of the narrowest code that can name each of this number of dictionary entries."""
    if entries <= ONE_BYTE_CODES:
        return 1
    return 2 if entries <= TWO_BYTE_CODES else 4
