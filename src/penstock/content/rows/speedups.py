"""The compiled parts, where they are installed (``speedups/`` in the source tree).

They give the same bytes and the same answers as the Python beside them, sooner
(``tests/content/test_speedups.py``), so nobody but this module asks whether they are there.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock_speedups.block_check import extent as extent
    from penstock_speedups.block_check import sound_rows as sound_rows
    from penstock_speedups.cutting import cut as cut
    from penstock_speedups.envelope import opened as opened
    from penstock_speedups.envelope import seal as seal
    from penstock_speedups.row_buffer import RowBuffer

    CompiledRowBuffer = RowBuffer
    COMPILED: bool
else:
    try:
        from penstock_speedups.block_check import extent, sound_rows
        from penstock_speedups.cutting import cut
        from penstock_speedups.envelope import opened, seal
        from penstock_speedups.row_buffer import RowBuffer as CompiledRowBuffer
    except ImportError:
        COMPILED = False
        CompiledRowBuffer = None

        def sound_rows(block):
            """Not known without reading the header."""
            return -1

        def extent(block):
            """Not known without reading the columns."""
            return None

        def cut(data, offsets):
            """The pieces between consecutive offsets."""
            whole = bytes(data)
            return [whole[low:high] for low, high in itertools.pairwise(offsets.tolist())]

        def seal(head, attachments):
            """Left to Python."""
            return None

        def opened(data):
            """Left to Python."""
            return None

    else:
        COMPILED = True
