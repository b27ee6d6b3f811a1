"""Encodes a batch as a block and reads it back (``layout`` describes the bytes).

Arrow's own IPC format was weighed and rejected for single messages: its metadata alone is larger
than the whole block of a 100-byte message (docs/decisions/0002-columnar-block.md).

Everything read from a block is checked against its bounds before use: hostile bytes raise
``MalformedBlock`` and nothing else.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from penstock.content.rows.columns import (
    OFFSET_DTYPE,
    VALUE_DTYPES,
    Array,
    AttributeType,
    Buffer,
    Column,
    Dictionary,
    Mask,
    code_dtype,
    is_dictionary_encoded,
)
from penstock.content.rows.layout import (
    BLOCK_VERSION,
    CHECKSUM,
    DESCRIPTOR,
    HAS_PRESENCE,
    HEADER_BYTES,
    MAX_BLOCK_BYTES,
    MAX_COLUMNS,
    NO_DICTIONARY,
    SHAPE,
    column_bytes,
    descriptors_bytes,
    offsets_bytes,
    padded,
    padding,
    payloads_bytes,
    presence_bytes,
)
from penstock.content.rows.speedups import sound_rows


class MalformedBlock(ValueError):
    """These bytes are not a batch."""


class BlockTooLarge(ValueError):
    """These rows do not fit one block; the message says what to do."""


class Block(NamedTuple):
    """Encoded bytes whose header was read and whose checksum was right."""

    rows: int
    data: Buffer


class _Descriptor(NamedTuple):
    name_bytes: int
    kind: int
    flags: int
    entries: int
    dictionary_bytes: int


def encode_block(
    rows: int, columns: tuple[Column, ...], payload_offsets: Array, payload_data: Buffer
) -> bytes:
    """The bytes of a batch; raises ``BlockTooLarge`` if no block can hold it."""
    if len(columns) > MAX_COLUMNS:
        raise BlockTooLarge(
            f"a batch of {rows} rows has {len(columns)} columns and a block at most {MAX_COLUMNS}; "
            "use fewer distinct attribute names"
        )
    parts: list[Buffer] = []
    names: list[bytes] = []

    def add(region: Buffer) -> None:
        parts.append(region)
        filler = padding(len(region))
        if filler:
            parts.append(bytes(filler))

    add(SHAPE.pack(BLOCK_VERSION, len(columns), rows, len(payload_data), 0))
    descriptors: list[bytes] = []
    for column in columns:
        name = column.name.encode()
        dictionary = column.encoded_dictionary
        entries, length = (len(dictionary), len(dictionary.data)) if dictionary else (0, 0)
        flags = HAS_PRESENCE if column.present is not None else 0
        descriptors.append(DESCRIPTOR.pack(len(name), column.kind, flags, entries, length))
        names.append(name)
    add(b"".join(descriptors))
    add(b"".join(names))
    for column in columns:
        if column.present is not None:
            add(np.packbits(column.present, bitorder="little").tobytes())
        add(column.values.tobytes())
        if column.encoded_dictionary is not None:
            add(column.encoded_dictionary.offsets.tobytes())
            add(column.encoded_dictionary.data)
    add(payload_offsets.tobytes())
    add(payload_data)
    size = CHECKSUM.size + sum(map(len, parts))
    if size > MAX_BLOCK_BYTES:
        raise BlockTooLarge(
            f"a batch of {rows} rows needs {size} bytes and a block holds {MAX_BLOCK_BYTES}; "
            "publish fewer rows at once"
        )
    checked = b"".join(parts)
    return CHECKSUM.pack(xxh3_64_intdigest(checked)) + checked


def block_size(rows: int, columns: tuple[Column, ...], payload_bytes: int) -> int:
    """The length that ``encode_block`` would give."""
    size = HEADER_BYTES + descriptors_bytes(len(columns)) + payloads_bytes(rows, payload_bytes)
    names_bytes = 0
    for column in columns:
        names_bytes += len(column.name.encode())
        width, presence = column.values.itemsize, column.present is not None
        dictionary = column.encoded_dictionary
        if dictionary is None:
            size += column_bytes(rows, width, presence)
        else:
            size += column_bytes(rows, width, presence, len(dictionary), len(dictionary.data))
    return size + padded(names_bytes)


def decode_block(data: Buffer) -> Block:
    """Check the header and the checksum; columns and payloads are read later."""
    sound = sound_rows(data)
    return Block(sound, data) if sound >= 0 else decode_block_plainly(data)


def decode_block_plainly(data: Buffer) -> Block:
    """``decode_block`` without the compiled parts."""
    size = len(data)
    if not HEADER_BYTES <= size <= MAX_BLOCK_BYTES or size % 8:
        raise MalformedBlock(
            f"a block has {HEADER_BYTES} to {MAX_BLOCK_BYTES} bytes, a multiple of 8; "
            f"this one has {size}"
        )
    version, columns, rows, payload_bytes, reserved = SHAPE.unpack_from(data, CHECKSUM.size)
    if version != BLOCK_VERSION:
        raise MalformedBlock(f"block version {version}; this program reads {BLOCK_VERSION}")
    if CHECKSUM.unpack_from(data)[0] != xxh3_64_intdigest(memoryview(data)[CHECKSUM.size :]):
        raise MalformedBlock("the block's checksum does not fit its bytes")
    if reserved:
        raise MalformedBlock("the header's reserved bytes are not zero")
    least = HEADER_BYTES + descriptors_bytes(columns) + payloads_bytes(rows, payload_bytes)
    if least > size:
        raise MalformedBlock(f"{rows} rows and {columns} columns do not fit {size} bytes")
    return Block(rows, data)


def read_columns(block: Block) -> tuple[Column, ...]:
    """The columns, as views of the block."""
    data, rows = block.data, block.rows
    _, count, _, payload_bytes, _ = SHAPE.unpack_from(data, CHECKSUM.size)
    end = len(data) - payloads_bytes(rows, payload_bytes)
    at = HEADER_BYTES
    descriptors = [
        _Descriptor(*DESCRIPTOR.unpack_from(data, at + DESCRIPTOR.size * i)) for i in range(count)
    ]
    at += descriptors_bytes(count)
    names, at = _read_names(data, descriptors, at, end)
    columns = []
    for name, descriptor in zip(names, descriptors, strict=True):
        column, at = _read_column(data, rows, name, descriptor, at, end)
        columns.append(column)
    if at != end:
        raise MalformedBlock(f"{end - at} bytes between the columns and the payloads")
    for first, second in itertools.pairwise(columns):
        if (first.name, first.kind) >= (second.name, second.kind):
            raise MalformedBlock("columns are not in ascending order of name and type")
    if len(set(names)) < len(names):
        _check_one_value_a_row(columns)
    return tuple(columns)


def _check_one_value_a_row(columns: list[Column]) -> None:
    """Columns of one name share no row: otherwise two readers could see two messages."""
    for name, group in itertools.groupby(columns, key=lambda column: column.name):
        taken: Mask | None = None
        for column in group:
            present = _presence(column)
            if taken is not None and (taken & present).any():
                raise MalformedBlock(f"a row holds attribute {name!r} with two types")
            taken = present if taken is None else taken | present


def _presence(column: Column) -> Mask:
    return np.ones(len(column.values), np.bool_) if column.present is None else column.present


def read_payloads(block: Block) -> tuple[Array, Buffer]:
    """Payload offsets and payload bytes, as views of the block."""
    data, rows = block.data, block.rows
    payload_bytes = SHAPE.unpack_from(data, CHECKSUM.size)[3]
    start = len(data) - padded(payload_bytes)
    offsets = _offsets(data, start - offsets_bytes(rows), rows, payload_bytes, "payload")
    return offsets, memoryview(data)[start : start + payload_bytes]


def _read_names(
    data: Buffer, descriptors: list[_Descriptor], at: int, end: int
) -> tuple[list[str], int]:
    total = sum(descriptor.name_bytes for descriptor in descriptors)
    if at + padded(total) > end:
        raise MalformedBlock("the column names run over the payloads")
    names = []
    position = at
    for descriptor in descriptors:
        raw = bytes(data[position : position + descriptor.name_bytes])
        position += descriptor.name_bytes
        try:
            names.append(raw.decode())
        except UnicodeDecodeError:
            raise MalformedBlock("a column name is not UTF-8") from None
    return names, at + padded(total)


def _read_column(
    data: Buffer, rows: int, name: str, descriptor: _Descriptor, at: int, end: int
) -> tuple[Column, int]:
    try:
        kind = AttributeType(descriptor.kind)
    except ValueError:
        raise MalformedBlock(f"column {name!r} has the unknown type {descriptor.kind}") from None
    if descriptor.flags & ~HAS_PRESENCE:
        raise MalformedBlock(f"column {name!r} has unknown flags {descriptor.flags:#x}")
    coded = is_dictionary_encoded(kind)
    if not coded and (descriptor.entries or descriptor.dictionary_bytes):
        raise MalformedBlock(f"column {name!r} has a dictionary, which its type does not use")
    dtype = code_dtype(descriptor.entries) if coded else VALUE_DTYPES[kind]
    presence = bool(descriptor.flags & HAS_PRESENCE)
    entries = descriptor.entries if coded else NO_DICTIONARY
    size = column_bytes(rows, dtype.itemsize, presence, entries, descriptor.dictionary_bytes)
    if at + size > end:
        raise MalformedBlock(f"column {name!r} runs over the payloads")
    present = None
    if presence:
        length = presence_bytes(rows)
        bits = np.frombuffer(data, np.uint8, length, at)
        present = np.unpackbits(bits, count=rows, bitorder="little").view(np.bool_)
        at += padded(length)
    values: Array = np.frombuffer(data, dtype, rows, at)
    at += padded(values.nbytes)
    dictionary = None
    if coded:
        dictionary, at = _read_dictionary(data, name, kind, descriptor, at)
        if rows and int(values.max()) >= descriptor.entries:
            raise MalformedBlock(f"column {name!r} has a code beyond its dictionary")
    elif kind is AttributeType.BOOL and rows and int(values.max()) > 1:
        raise MalformedBlock(f"column {name!r} holds a boolean that is neither 0 nor 1")
    return Column(name, kind, values, present, dictionary), at


def _read_dictionary(
    data: Buffer, name: str, kind: AttributeType, descriptor: _Descriptor, at: int
) -> tuple[Dictionary, int]:
    size, entries = descriptor.dictionary_bytes, descriptor.entries
    offsets = _offsets(data, at, entries, size, f"column {name!r}")
    at += offsets_bytes(entries)
    dictionary = Dictionary(
        offsets, memoryview(data)[at : at + size], text=kind is AttributeType.STRING
    )
    try:
        values: tuple[Any, ...] = dictionary.values
    except UnicodeDecodeError:
        raise MalformedBlock(f"column {name!r} holds a string that is not UTF-8") from None
    if len(set(values)) != entries:
        raise MalformedBlock(f"the dictionary of column {name!r} repeats a value")
    return dictionary, at + padded(size)


def _offsets(data: Buffer, at: int, count: int, total: int, what: str) -> Array:
    """Offsets that start at zero, never fall, and end at the total.

    That they lie inside the block was checked when the header or the descriptor was read.
    """
    offsets: Array = np.frombuffer(data, OFFSET_DTYPE, count + 1, at)
    if offsets[0] != 0 or offsets[-1] != total or (offsets[1:] < offsets[:-1]).any():
        raise MalformedBlock(f"the offsets of {what} are not ascending")
    return offsets
