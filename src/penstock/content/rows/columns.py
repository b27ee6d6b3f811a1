"""Typed attribute columns.

A column holds one attribute of one type for all rows of a batch.  An attribute whose type differs
between rows simply has a column for each type, with disjoint presence; an attribute that a row
lacks is absent, which is not the same as zero or the empty string.  Strings and byte strings are
dictionary-encoded: a row holds a code, and the distinct values stand once, so that a broker
compares each distinct value once, however many rows carry it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from penstock.content.rows.layout import MAX_NAME_BYTES, MAX_OFFSET, code_bytes

AttributeValue: TypeAlias = str | int | float | bool | bytes
Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
Buffer: TypeAlias = bytes | bytearray | memoryview

INTEGER_MIN: Final = -(2**63)
INTEGER_MAX: Final = 2**63 - 1


class AttributeType(IntEnum):
    """The types that an attribute can have, with their number on the wire."""

    STRING = 1
    INT = 2
    FLOAT = 3
    BOOL = 4
    BYTES = 5


PYTHON_TYPES: Final[dict[type, AttributeType]] = {
    str: AttributeType.STRING,
    int: AttributeType.INT,
    float: AttributeType.FLOAT,
    bool: AttributeType.BOOL,
    bytes: AttributeType.BYTES,
}

VALUE_DTYPES: Final[dict[AttributeType, np.dtype[Any]]] = {
    AttributeType.INT: np.dtype("<i8"),
    AttributeType.FLOAT: np.dtype("<f8"),
    AttributeType.BOOL: np.dtype("<u1"),
}

CODE_DTYPES: Final[dict[int, np.dtype[Any]]] = {
    1: np.dtype("<u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
}
"""The type of a dictionary's codes, by their width in bytes."""

OFFSET_DTYPE: Final = np.dtype("<u4")

FEW_PARTS: Final = 32
"""Up to here lists are quicker than arrays, whose calls cost more than the work."""


class InvalidAttribute(ValueError):
    """An attribute that a message cannot carry; the message says which one and why."""


def is_dictionary_encoded(kind: AttributeType) -> bool:
    """Whether a column of this type holds codes instead of values."""
    return kind is AttributeType.STRING or kind is AttributeType.BYTES


def code_dtype(entries: int) -> np.dtype[Any]:
    """The type of the codes of a dictionary with this number of entries."""
    return CODE_DTYPES[code_bytes(entries)]


def offsets_of(parts: Sequence[Buffer]) -> Array:
    """Where each part starts once they are joined, and the end; ``OverflowError`` if too long."""
    if len(parts) <= FEW_PARTS:
        bounds = list(itertools.accumulate(map(len, parts), initial=0))
        if bounds[-1] <= MAX_OFFSET:
            return np.array(bounds, dtype=OFFSET_DTYPE)
    ends = np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)))
    if len(parts) and ends[-1] > MAX_OFFSET:
        raise OverflowError(f"{ends[-1]} bytes in one column; at most {MAX_OFFSET} fit a block")
    offsets = np.zeros(len(parts) + 1, dtype=OFFSET_DTYPE)
    offsets[1:] = ends
    return offsets


class Dictionary:
    """The distinct values of a string or bytes column, as offsets into one run of bytes."""

    __slots__ = ("_text", "_values", "data", "offsets")

    def __init__(self, offsets: Array, data: Buffer, *, text: bool) -> None:
        """Offsets are ``<u4``, one more than there are entries, and were validated."""
        self.offsets = offsets
        self.data = data
        self._text = text
        self._values: tuple[str, ...] | tuple[bytes, ...] | None = None

    @classmethod
    def of(cls, values: Sequence[str] | Sequence[bytes], *, text: bool) -> Dictionary:
        """Build from distinct values; ``OverflowError`` if their offsets do not fit."""
        raw: list[bytes] = (
            [cast(str, value).encode() for value in values]
            if text
            else cast("list[bytes]", list(values))
        )
        offsets = offsets_of(raw)
        built = cls(offsets, b"".join(raw), text=text)
        built._values = cast("tuple[str, ...] | tuple[bytes, ...]", tuple(values))
        return built

    def __len__(self) -> int:
        """How many distinct values there are."""
        return len(self.offsets) - 1

    @property
    def values(self) -> tuple[str, ...] | tuple[bytes, ...]:
        """The distinct values, decoded once."""
        if self._values is None:
            bounds = self.offsets.tolist()
            data = bytes(self.data)
            raw = [data[low:high] for low, high in itertools.pairwise(bounds)]
            self._values = tuple(each.decode() for each in raw) if self._text else tuple(raw)
        return self._values


class Column:
    """One attribute of one type for all rows of a batch; immutable."""

    __slots__ = ("_dictionary", "kind", "name", "present", "values")

    def __init__(
        self,
        name: str,
        kind: AttributeType,
        values: Array,
        present: Mask | None = None,
        dictionary: Dictionary | None = None,
    ) -> None:
        """``present`` None means in every row; elsewhere ``values`` holds an arbitrary filler."""
        self.name = name
        self.kind = kind
        self.values = values
        self.present = present
        self._dictionary = dictionary

    @property
    def dictionary(self) -> tuple[str, ...] | tuple[bytes, ...] | None:
        """The distinct values of a string or bytes column, in the order of their codes."""
        return None if self._dictionary is None else self._dictionary.values

    @property
    def encoded_dictionary(self) -> Dictionary | None:
        """The dictionary as it travels."""
        return self._dictionary

    def value(self, row: int) -> AttributeValue | None:
        """One value, or None where the row has none."""
        if self.present is not None and not self.present[row]:
            return None
        value = self.values[row]
        if self._dictionary is not None:
            return self._dictionary.values[int(value)]
        if self.kind is AttributeType.BOOL:
            return bool(value)
        return cast("int | float", value.item())

    def values_list(self) -> list[AttributeValue | None]:
        """All rows as Python values, with None where a row has none."""
        raw: list[Any]
        if self._dictionary is not None:
            raw = list(map(self._dictionary.values.__getitem__, self.values.tolist()))
        elif self.kind is AttributeType.BOOL:
            raw = self.values.astype(np.bool_).tolist()
        else:
            raw = self.values.tolist()
        if self.present is None:
            return raw
        return [
            value if here else None for value, here in zip(raw, self.present.tolist(), strict=True)
        ]

    def take(self, rows: Array) -> Column | None:
        """The column for these row indices, or None if none of them has the attribute."""
        present = None if self.present is None else self.present[rows]
        if present is not None:
            if not present.any():
                return None
            if present.all():
                present = None
        values, dictionary = self.values[rows], self._dictionary
        if dictionary is not None and len(dictionary) > len(values):
            values, dictionary = _compacted(values, dictionary, self.kind)
        return Column(self.name, self.kind, values, present, dictionary)


def _compacted(
    codes: Array, dictionary: Dictionary, kind: AttributeType
) -> tuple[Array, Dictionary]:
    """Forget the dictionary entries that no row uses, so that a narrowed batch is small too."""
    if len(codes) <= FEW_PARTS:
        named = codes.tolist()
        places = {code: place for place, code in enumerate(sorted(set(named)))}
        kept = [dictionary.values[code] for code in places]
        renumbered = np.array([places[code] for code in named])
    else:
        used, renumbered = np.unique(codes, return_inverse=True)
        kept = [dictionary.values[code] for code in used.tolist()]
    narrowed = Dictionary.of(
        cast("list[str] | list[bytes]", kept), text=kind is AttributeType.STRING
    )
    return renumbered.astype(code_dtype(len(kept))), narrowed


def sorted_names(names: Iterable[str]) -> list[str]:
    """Attribute names in the order of their columns; refuses those that a block cannot carry."""
    checked = list(names)
    for name in checked:
        if not isinstance(name, str):
            raise InvalidAttribute(f"attribute name {name!r} is not a string")
        try:
            size = len(name.encode())
        except UnicodeEncodeError as error:
            raise InvalidAttribute(
                f"attribute name {name!r} is not valid Unicode ({error.reason})"
            ) from None
        if size > MAX_NAME_BYTES:
            raise InvalidAttribute(
                f"attribute name {name[:32]!r}… has {size} bytes; at most {MAX_NAME_BYTES} fit"
            )
    checked.sort()
    return checked


def columns_from_attributes(name: str, values: Sequence[object]) -> list[Column]:
    """Columns for one attribute of several rows, one for each type that occurs.

    ``values`` holds None where a row lacks the attribute.
    """
    types = set(map(type, values))
    absent = type(None) in types
    types.discard(type(None))
    if len(types) == 1 and not absent:
        kind = _kind_of(name, next(iter(types)))
        return [_column(name, kind, values, None)]
    made = []
    for found in sorted(types, key=lambda each: each.__name__):
        kind = _kind_of(name, found)
        present = np.fromiter((type(v) is found for v in values), np.bool_, len(values))
        filler = found()
        filled = [v if type(v) is found else filler for v in values]
        made.append(_column(name, kind, filled, present))
    return made


def _kind_of(name: str, found: type) -> AttributeType:
    kind = PYTHON_TYPES.get(found)
    if kind is None:
        raise InvalidAttribute(
            f"attribute {name!r} has a value of type {found.__name__}; "
            "use str, int, float, bool or bytes"
        )
    return kind


def _column(name: str, kind: AttributeType, values: Sequence[Any], present: Mask | None) -> Column:
    if is_dictionary_encoded(kind):
        distinct = list(dict.fromkeys(values))
        if len(distinct) == 1:
            codes = np.zeros(len(values), code_dtype(1))
        else:
            index = dict(zip(distinct, range(len(distinct)), strict=True))
            listed = map(index.__getitem__, values)
            codes = np.fromiter(listed, code_dtype(len(distinct)), len(values))
        try:
            dictionary = Dictionary.of(distinct, text=kind is AttributeType.STRING)
        except UnicodeEncodeError as error:
            raise InvalidAttribute(
                f"attribute {name!r} holds a string that is not valid Unicode ({error.reason})"
            ) from None
        except OverflowError as error:
            raise InvalidAttribute(
                f"the values of attribute {name!r} are too long together ({error}); "
                "publish fewer rows at once"
            ) from None
        return Column(name, kind, codes, present, dictionary)
    try:
        return Column(name, kind, np.array(values, dtype=VALUE_DTYPES[kind]), present)
    except OverflowError:
        raise InvalidAttribute(
            f"attribute {name!r} holds an integer outside the 64-bit range; "
            "send it as a string or a float"
        ) from None
