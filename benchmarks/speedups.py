"""The speed of the compiled parts compared with the equivalent Python.

``python -m benchmarks.speedups``: µs per row, or per batch where stated; the best of five.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, Final

from penstock.content.rows.batch import Batch
from penstock.content.rows.row_buffer import PlainRowBuffer
from penstock.content.rows.speedups import COMPILED, CompiledRowBuffer, extent

CASES: Final = ((1, 100), (512, 100), (4096, 100), (1024, 1000))
"""Rows of a batch, and bytes of a payload."""

ROWS: Final = 100_000
ROUNDS: Final = 5
UNLIMITED: Final = (1 << 20, 1 << 40)
ATTRIBUTES: Final = {"topic": "bench"}


def best_us(work: Callable[[], object], times: int) -> float:
    """The time of one call in the fastest round."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - began) / times * 1e6)
    return min(rounds)


def encoded(buffer: Any, rows: int, payload: bytes) -> bytes:
    """Encode rows into the bytes of a block, one after the other, as a publisher does."""
    offer = buffer.offer
    for _ in range(rows):
        offer(ATTRIBUTES, payload)
    if isinstance(buffer, PlainRowBuffer):
        return bytes(Batch.from_lists(buffer.attributes, buffer.payloads).encode())
    return bytes(buffer.block())


def plainly_cut(batch: Batch) -> list[bytes]:
    """Payloads extracted without the compiled part."""
    offsets, data = batch.payloads
    whole = bytes(data)
    bounds = offsets.tolist()
    return [whole[low:high] for low, high in itertools.pairwise(bounds)]


def main() -> None:
    """Measure, and print."""
    if not COMPILED:
        print("penstock-speedups is not installed; make install builds it if there is a C compiler")
        return
    print(f"{'':34} {'Python':>9} {'compiled':>9}")
    for rows, size in CASES:
        payload = bytes(size)
        times = max(1, ROWS // rows)
        data = encoded(CompiledRowBuffer(*UNLIMITED), rows, payload)
        assert data == encoded(PlainRowBuffer(*UNLIMITED), rows, payload)
        batch = Batch.decode(data)

        def plain(rows: int = rows, payload: bytes = payload) -> object:
            return encoded(PlainRowBuffer(*UNLIMITED), rows, payload)

        def compiled(rows: int = rows, payload: bytes = payload) -> object:
            return encoded(CompiledRowBuffer(*UNLIMITED), rows, payload)

        def validated(data: bytes = data) -> object:
            return Batch.decode(data).validate()

        def checked(data: bytes = data) -> object:
            return extent(Batch.decode(data).encode())

        what = f"{rows} of {size} B"
        show(
            f"{what}: rows into bytes",
            best_us(plain, times) / rows,
            best_us(compiled, times) / rows,
        )
        show(f"{what}: a batch checked", best_us(validated, 2000), best_us(checked, 2000))
        cut_us = best_us(batch.payload_rows, times) / rows
        show(
            f"{what}: payloads cut out",
            best_us(lambda batch=batch: plainly_cut(batch), times) / rows,
            cut_us,
        )


def show(what: str, plain_us: float, compiled_us: float) -> None:
    """One line."""
    print(f"{what:34} {plain_us:9.3f} {compiled_us:9.3f}", flush=True)


if __name__ == "__main__":
    main()
