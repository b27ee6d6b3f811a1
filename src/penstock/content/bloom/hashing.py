"""Where an attribute's bits stand in a Bloom filter.

An *element* is the fact that an attribute has a certain value, or that it is present at all.  Each
element has a 64-bit hash, and a stream of splitmix64 steps from it gives as many positions as are
wanted.  The hash of a value is the same wherever it is computed: from a single value or a column,
from the integer 5 or the float 5.0, in any process on any machine.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
from xxhash import xxh3_64_intdigest

from penstock.content.rows.columns import Array, AttributeType, AttributeValue, Column
from penstock.content.selectors.value_vectors import INTEGER_LIMIT

MASK: Final = 2**64 - 1

STEP: Final = 0x9E3779B97F4A7C15
FIRST_FACTOR: Final = 0xBF58476D1CE4E5B9
SECOND_FACTOR: Final = 0x94D049BB133111EB
"""The constants of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
Generators)."""

INTEGER_SALT: Final = 0x01
FLOAT_SALT: Final = 0x02
BOOLEAN_SALT: Final = 0x03
PRESENCE_SALT: Final = 0x04
"""Keep elements of different kinds apart that happen to have the same 64 bits."""


def mixed(number: int) -> int:
    """The output function of splitmix64: every input bit reaches every output bit."""
    number = (number ^ number >> 30) * FIRST_FACTOR & MASK
    number = (number ^ number >> 27) * SECOND_FACTOR & MASK
    return number ^ number >> 31


def mixed_array(numbers: Array) -> Array:
    """``mixed`` of each of several 64-bit numbers."""
    first: Array = (numbers ^ numbers >> np.uint64(30)) * np.uint64(FIRST_FACTOR)
    second: Array = (first ^ first >> np.uint64(27)) * np.uint64(SECOND_FACTOR)
    third: Array = second ^ second >> np.uint64(31)
    return third


def presence_hash(name: str) -> int:
    """The element "has this attribute"."""
    return _salted(name, PRESENCE_SALT)


def value_hash(name: str, value: AttributeValue) -> int | None:
    """The element "has this attribute with this value"; None for bytes, which equal nothing."""
    match value:
        case bytes():
            return None
        case str():
            return xxh3_64_intdigest(value.encode(), seed=_name_hash(name))
        case bool():
            return mixed(_salted(name, BOOLEAN_SALT) ^ int(value))
        case float() if not (value.is_integer() and -INTEGER_LIMIT <= value < INTEGER_LIMIT):
            bits = int(np.float64(value).view(np.uint64))
            return mixed(_salted(name, FLOAT_SALT) ^ bits)
        case number:
            return mixed(_salted(name, INTEGER_SALT) ^ int(number) & MASK)


def column_hashes(column: Column) -> Array:
    """``value_hash`` of each row, or of each dictionary entry of a string column."""
    name, values = column.name, column.values
    match column.kind:
        case AttributeType.STRING:
            seed = _name_hash(name)
            texts = cast("tuple[str, ...]", column.dictionary)
            digests = (xxh3_64_intdigest(text.encode(), seed=seed) for text in texts)
            return np.fromiter(digests, np.uint64, len(texts))
        case AttributeType.BOOL:
            salt = np.uint64(_salted(name, BOOLEAN_SALT))
            return mixed_array(values.astype(np.uint64) ^ salt)
        case AttributeType.INT:
            return _integer_hashes(name, values)
        case AttributeType.FLOAT:
            with np.errstate(invalid="ignore"):
                whole = (np.floor(values) == values) & (np.abs(values) <= INTEGER_LIMIT)
                whole &= values != INTEGER_LIMIT
            salt = np.uint64(_salted(name, FLOAT_SALT))
            fractional = mixed_array(values.view(np.uint64) ^ salt)
            integers = np.where(whole, values, 0.0).astype(np.int64)
            return np.where(whole, _integer_hashes(name, integers), fractional)
        case AttributeType.BYTES:
            return np.zeros(len(values), np.uint64)


def _integer_hashes(name: str, values: Array) -> Array:
    salt = np.uint64(_salted(name, INTEGER_SALT))
    return mixed_array(values.astype(np.int64).view(np.uint64) ^ salt)


def _name_hash(name: str) -> int:
    return xxh3_64_intdigest(name.encode())


def _salted(name: str, salt: int) -> int:
    return mixed(_name_hash(name) ^ salt)
