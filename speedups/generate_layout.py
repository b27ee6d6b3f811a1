"""Writes the numbers of the byte layouts for the compiled parts.

The layouts stand in ``penstock.content.rows.layout`` (a block) and
``penstock.content.codec.envelope`` (a message).  Cython needs the numbers at compile time, and
``penstock-speedups`` must build without Penstock, so they are written to two ``.pxd`` files that
belong to the sources::

    python speedups/generate_layout.py

``tests/content/rows/test_layout.py`` fails when the files differ from what this program writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.content.codec import envelope
from penstock.content.rows import layout
from penstock.content.rows.columns import AttributeType
from penstock.content.rows.row_buffer import ROW_BYTES

PACKAGE: Final = Path(__file__).parent / "src" / "penstock_speedups"


def constants() -> dict[str, dict[str, int]]:
    """The constants of each generated file."""
    return {
        "block_layout.pxd": {
            **{kind.name: kind.value for kind in AttributeType},
            "ALIGNMENT": layout.ALIGNMENT,
            "BLOCK_VERSION": layout.BLOCK_VERSION,
            "HEADER_BYTES": layout.HEADER_BYTES,
            "CHECKSUM_BYTES": layout.CHECKSUM.size,
            **_places("HEADER", layout.HEADER_FIELDS),
            "DESCRIPTOR_BYTES": layout.DESCRIPTOR.size,
            **_places("DESCRIPTOR", layout.DESCRIPTOR_FIELDS),
            "HAS_PRESENCE": layout.HAS_PRESENCE,
            "OFFSET_BYTES": layout.OFFSET_BYTES,
            "ONE_BYTE_CODES": layout.ONE_BYTE_CODES,
            "TWO_BYTE_CODES": layout.TWO_BYTE_CODES,
            "MAX_NAME_BYTES": layout.MAX_NAME_BYTES,
            "MAX_COLUMNS": layout.MAX_COLUMNS,
            "MAX_BLOCK_BYTES": layout.MAX_BLOCK_BYTES,
            "ROW_BYTES": ROW_BYTES,
        },
        "envelope_layout.pxd": {
            "MAGIC": envelope.MAGIC,
            "WIRE_VERSION": envelope.WIRE_VERSION,
            "MAX_ATTACHMENTS": envelope.MAX_ATTACHMENTS,
            "PREAMBLE_BYTES": envelope.PREAMBLE.size,
            "ENVELOPE_BYTES": envelope.ENVELOPE.size,
            "LENGTH_BYTES": envelope.LENGTH_BYTES,
            **_places("ENVELOPE", envelope.ENVELOPE_FIELDS),
        },
    }


def generated() -> dict[str, str]:
    """The text of each generated file, by its name."""
    return {name: _text(values) for name, values in constants().items()}


def _places(structure: str, fields: Mapping[str, str]) -> dict[str, int]:
    places = layout.places(fields)
    return {f"{structure}_{name.upper()}_AT": place for name, place in places.items()}


def _text(values: Mapping[str, int]) -> str:
    lines = ["# Written by speedups/generate_layout.py; do not edit.", "", "cdef enum:"]
    lines += [f"    {name} = {value}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    for name, text in generated().items():
        (PACKAGE / name).write_text(text)


if __name__ == "__main__":
    main()
