"""Telemetry records: flat, frozen, and equal by value."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.trace import TraceRecord


def test_the_schema_is_the_one_that_the_telemetry_tables_have() -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(TraceRecord)}
    assert fields == {
        "at": int,
        "node": str,
        "subject": str,
        "metric": str,
        "value": float,
        "detail": str,
    }


def test_a_record_that_only_counts_needs_no_detail() -> None:
    record = TraceRecord(5, "b1", "link:b2", "queue_bytes", 3.0)
    assert record.detail == ""
    assert record == TraceRecord(5, "b1", "link:b2", "queue_bytes", 3.0, "")
    assert record != TraceRecord(5, "b1", "link:b2", "queue_bytes", 3.0, "full")


def test_a_record_never_changes() -> None:
    record = TraceRecord(5, "b1", "link:b2", "queue_bytes", 3.0)
    with pytest.raises(AttributeError):
        record.value = 4.0  # type: ignore[misc]


def test_equal_records_are_one_key() -> None:
    first = TraceRecord(5, "b1", "link:b2", "queue_bytes", 3.0)
    second = TraceRecord(5, "b1", "link:b2", "queue_bytes", 3.0)
    assert {first, second} == {first}
