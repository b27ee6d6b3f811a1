"""The compiled parts, where they are installed (``speedups/`` in the source tree).

They give the same bytes and the same answers as the Python beside them, sooner
(``tests/content/test_speedups.py``), so nobody but this module asks whether they are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock_speedups.block_check import extent as extent
    from penstock_speedups.row_buffer import RowBuffer
    from penstock_speedups.row_buffer import UnusualRow as UnusualRow

    CompiledRowBuffer = RowBuffer
    COMPILED: bool
else:
    try:
        from penstock_speedups.block_check import extent
        from penstock_speedups.row_buffer import RowBuffer as CompiledRowBuffer
        from penstock_speedups.row_buffer import UnusualRow
    except ImportError:
        COMPILED = False
        CompiledRowBuffer = None

        class UnusualRow(Exception):
            """Raised by nobody: rows in Python are looked at when their batch is built."""

        def extent(block):
            """Not known without reading the columns."""
            return None
    else:
        COMPILED = True
