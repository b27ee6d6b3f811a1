from __future__ import annotations

import pytest
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.spark.schema import (
    SchemaMismatch,
    check_sink_schema,
    check_source_schema,
    default_schema,
)


def schema_of(**kinds: object) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])  # type: ignore[arg-type]


def test_without_the_option_attributes_are_a_map() -> None:
    assert default_schema("").simpleString() == (
        "struct<pubend:string,tick:bigint,time:timestamp,payload:binary,attributes:map<string,string>>"
    )


def test_attributes_become_columns_with_their_types() -> None:
    made = default_schema("symbol string, price DOUBLE, `odd name` long, ok boolean, raw binary")
    assert made.simpleString() == (
        "struct<pubend:string,tick:bigint,time:timestamp,payload:binary,"
        "symbol:string,price:double,odd name:bigint,ok:boolean,raw:binary>"
    )


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ("symbol", "'symbol' is not a column name with a type"),
        ("symbol text", "'symbol text' is not"),
        ("price decimal(3,2)", "is not"),
        ("a string,, b string", "'' is not"),
        ("tick bigint", "'tick' is the name of a column that every message has"),
        ("a string, a bigint", "names 'a' twice"),
    ],
)
def test_an_invalid_option_is_refused(attributes: str, says: str) -> None:
    with pytest.raises(SchemaMismatch) as raised:
        default_schema(attributes)
    assert says in str(raised.value)


def test_any_subset_of_columns_can_be_read() -> None:
    chosen = schema_of(payload=BinaryType(), symbol=StringType(), time=TimestampType())
    assert check_source_schema(chosen) == chosen


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (schema_of(tick=IntegerType()), "column 'tick' has type int; it must be bigint"),
        (schema_of(price=IntegerType()), "column 'price' has type int; it must be one of"),
        (schema_of(attributes=MapType(StringType(), LongType())), "it must be map<string,string>"),
        (StructType([StructField("a", LongType(), nullable=False)]), "declared NOT NULL"),
    ],
)
def test_columns_that_no_message_can_fill_are_refused(schema: StructType, says: str) -> None:
    with pytest.raises(SchemaMismatch) as raised:
        check_source_schema(schema)
    assert says in str(raised.value)


def test_any_attribute_a_payload_and_a_map_can_be_written() -> None:
    check_sink_schema(
        schema_of(
            payload=StringType(),
            price=DoubleType(),
            count=IntegerType(),
            attributes=MapType(StringType(), StringType()),
        ),
        map_as_text=True,
    )


def test_a_map_of_attributes_is_not_written_by_mistake() -> None:
    read = schema_of(attributes=MapType(StringType(), StringType()))
    with pytest.raises(SchemaMismatch, match="would become strings; read with the option attrib"):
        check_sink_schema(read, map_as_text=False)
    check_sink_schema(schema_of(attributes=StringType()), map_as_text=False)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (schema_of(tick=LongType()), "the broker assigns pubend, tick and time"),
        (schema_of(payload=LongType()), "it must be binary or string"),
        (schema_of(at=TimestampType()), "column 'at' has type timestamp"),
        (schema_of(attributes=MapType(StringType(), LongType())), "map<string,string>"),
    ],
)
def test_columns_that_no_message_can_carry_are_refused(schema: StructType, says: str) -> None:
    with pytest.raises(SchemaMismatch) as raised:
        check_sink_schema(schema, map_as_text=True)
    assert says in str(raised.value)
