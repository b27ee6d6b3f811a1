"""The columns of the Spark source and sink.

A row has the content of a message.  Four columns are about the message itself:

    pubend   string     the stream that holds it
    tick     bigint     its position there: nanoseconds since 1970 by the pubend's clock
    time     timestamp  the same, to the microsecond
    payload  binary     its payload

and its attributes are either columns of their own, with the types that the option ``attributes``
gives them (``"symbol string, price double"``), or one column: ``attributes map<string,string>``, or
with the option ``*`` a map that keeps the types (``typed_map``).
Spark's own ``.schema(…)`` can choose any other set of these columns: a column whose name is none of
the five above is an attribute.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

PUBEND: Final = "pubend"
TICK: Final = "tick"
TIME: Final = "time"
PAYLOAD: Final = "payload"
ATTRIBUTES: Final = "attributes"

MESSAGE_COLUMNS: Final[dict[str, DataType]] = {
    PUBEND: StringType(),
    TICK: LongType(),
    TIME: TimestampType(),
    PAYLOAD: BinaryType(),
}

ATTRIBUTE_MAP: Final = MapType(StringType(), StringType())

TYPED_VALUE: Final = StructType(
    [
        StructField("string", StringType()),
        StructField("int", LongType()),
        StructField("float", DoubleType()),
        StructField("bool", BooleanType()),
        StructField("bytes", BinaryType()),
    ]
)
TYPED_MAP: Final = MapType(StringType(), TYPED_VALUE)
"""All attributes with their types: the field of its type holds the value of an attribute."""

ALL_TYPED: Final = "*"
"""The value of the option ``attributes`` that asks for this map."""

ATTRIBUTE_TYPES: Final[tuple[DataType, ...]] = (
    StringType(),
    LongType(),
    DoubleType(),
    BooleanType(),
    BinaryType(),
)
"""The possible types of an attribute: string, bigint, double, boolean, binary."""

_NAMES_OF_TYPES: Final = ", ".join(each.simpleString() for each in ATTRIBUTE_TYPES)
_TYPES_BY_NAME: Final[dict[str, DataType]] = {
    **{each.simpleString(): each for each in ATTRIBUTE_TYPES},
    "long": LongType(),
}
_MAPS: Final = f"{ATTRIBUTE_MAP.simpleString()} or {TYPED_MAP.simpleString()}"
_DECLARATION: Final = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))\s+(?P<type>\w+)\s*")
"""A name, in backquotes unless it consists of letters, digits and underscores, and a type.  Spark's
own parser runs only in the driver, but the source must give its schema in a worker."""


class SchemaMismatch(ValueError):
    """The requested columns do not fit messages."""


def default_schema(attributes: str) -> StructType:
    """The columns for the option ``attributes``; empty means a map of all attributes as text."""
    fields = [StructField(name, kind, nullable=True) for name, kind in MESSAGE_COLUMNS.items()]
    if not attributes or attributes.strip() == ALL_TYPED:
        every = TYPED_MAP if attributes else ATTRIBUTE_MAP
        return StructType([*fields, StructField(ATTRIBUTES, every, nullable=True)])
    for declaration in attributes.split(","):
        name, kind = _declared(declaration, attributes)
        if name in MESSAGE_COLUMNS or name == ATTRIBUTES:
            raise SchemaMismatch(
                f"option attributes={attributes!r}: {name!r} is the name of a column that every "
                "message has; an attribute of that name can only be read from the map"
            )
        if any(name == field.name for field in fields):
            raise SchemaMismatch(f"option attributes={attributes!r} names {name!r} twice")
        fields.append(StructField(name, kind, nullable=True))
    return StructType(fields)


def _declared(declaration: str, attributes: str) -> tuple[str, DataType]:
    """The name and the type of one column of the option."""
    found = _DECLARATION.fullmatch(declaration)
    kind = _TYPES_BY_NAME.get(found["type"].lower()) if found is not None else None
    if found is None or kind is None:
        raise SchemaMismatch(
            f"option attributes={attributes!r}: {declaration.strip()!r} is not a column name with "
            f"a type ({_NAMES_OF_TYPES}); write 'symbol string, price double'"
        )
    return found["quoted"] or found["plain"], kind


def check_source_schema(schema: StructType) -> StructType:
    """Returns the schema if messages can fill it; raises ``SchemaMismatch``."""
    for field in schema.fields:
        kind = field.dataType
        expected = MESSAGE_COLUMNS.get(field.name)
        if expected is not None:
            if kind != expected:
                raise _wrong_type(field, expected.simpleString())
        elif field.name == ATTRIBUTES and isinstance(kind, MapType):
            if not is_typed_map(kind) and not _is_text_map(kind):
                raise _wrong_type(field, _MAPS)
        elif kind not in ATTRIBUTE_TYPES:
            raise _wrong_type(field, f"one of {_NAMES_OF_TYPES} (it is an attribute)")
        if not field.nullable:
            raise SchemaMismatch(
                f"column {field.name!r} is declared NOT NULL, which messages cannot guarantee"
            )
    return schema


def check_sink_schema(schema: StructType, *, map_as_text: bool) -> StructType:
    """Returns the schema if its rows can be messages; raises ``SchemaMismatch``.

    A map of attributes has only text.  One that the source has read would turn numbers, booleans
    and byte strings into strings, so it is written only if ``map_as_text`` says that this is meant.
    """
    for field in schema.fields:
        kind = field.dataType
        if field.name in (PUBEND, TICK, TIME):
            raise SchemaMismatch(
                f"column {field.name!r} cannot be written: the broker assigns pubend, tick and "
                "time; drop the column, or rename it to keep it as an attribute"
            )
        if field.name == PAYLOAD:
            if not isinstance(kind, BinaryType | StringType):
                raise _wrong_type(field, "binary or string")
        elif field.name == ATTRIBUTES and isinstance(kind, MapType):
            if is_typed_map(kind):
                continue
            if not _is_text_map(kind):
                raise _wrong_type(field, _MAPS)
            if not map_as_text:
                raise SchemaMismatch(
                    f"column {field.name!r} is a map of texts: written back, numbers, booleans and "
                    "byte strings would become strings; read with the option attributes='*' (or "
                    "'symbol string, price double') to keep the types, or set the option mapAsText "
                    "to true to write every value of the map as a string"
                )
        elif not _is_attribute(kind):
            raise _wrong_type(
                field,
                f"one of {_NAMES_OF_TYPES} or a narrower number (cast it, or put it into the "
                "payload, e.g. with to_json)",
            )
    return schema


def is_typed_map(kind: DataType) -> bool:
    """Whether a column is the map that keeps types; Spark may have changed what may be null."""
    if not isinstance(kind, MapType) or not isinstance(kind.valueType, StructType):
        return False
    found = [(field.name, field.dataType) for field in kind.valueType.fields]
    wanted = [(field.name, field.dataType) for field in TYPED_VALUE.fields]
    return kind.keyType == StringType() and found == wanted


def _is_text_map(kind: MapType) -> bool:
    return (kind.keyType, kind.valueType) == (StringType(), StringType())


def _is_attribute(kind: DataType) -> bool:
    return kind in ATTRIBUTE_TYPES or kind.typeName() in ("integer", "short", "byte", "float")


def _wrong_type(field: StructField, expected: str) -> SchemaMismatch:
    found = field.dataType.simpleString()
    return SchemaMismatch(f"column {field.name!r} has type {found}; it must be {expected}")
