"""The layout of a block stands once: the compiled parts are generated from it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows import layout

SPEEDUPS = Path(__file__).parents[3] / "speedups"


def test_the_constants_of_the_compiled_parts_are_up_to_date() -> None:
    generator = runpy.run_path(str(SPEEDUPS / "generate_layout.py"))
    for name, text in generator["generated"]().items():
        found = (SPEEDUPS / "src" / "penstock_speedups" / name).read_text()
        assert found == text, f"{name} is out of date; run python speedups/generate_layout.py"


def test_the_header_and_the_descriptor_are_as_documented() -> None:
    assert layout.HEADER_BYTES == 24
    assert layout.DESCRIPTOR.size == 12
    assert layout.places(layout.HEADER_FIELDS) == {
        "checksum": 0,
        "version": 8,
        "columns": 10,
        "rows": 12,
        "payload_bytes": 16,
        "reserved": 20,
    }
    assert layout.packing(layout.HEADER_FIELDS).size == layout.HEADER_BYTES


@given(st.integers(0, 2**33))
def test_padding_fills_up_to_the_alignment(length: int) -> None:
    assert layout.padded(length) == length + layout.padding(length)
    assert layout.padded(length) % layout.ALIGNMENT == 0
    assert 0 <= layout.padding(length) < layout.ALIGNMENT


@pytest.mark.parametrize(
    ("entries", "width"), [(0, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4)]
)
def test_codes_are_as_narrow_as_they_can_be(entries: int, width: int) -> None:
    assert layout.code_bytes(entries) == width


def test_a_column_is_the_sum_of_its_regions() -> None:
    assert layout.column_bytes(3, 8, False) == 24
    assert layout.column_bytes(3, 1, True, 2, 9) == 8 + 8 + 16 + 16
