"""The benchmarks of our parts, one after another: ``python -m benchmarks.parts``."""

from __future__ import annotations

import runpy

BENCHMARKS = (
    "store_log",
    "block_format",
    "struct_cost",
    "matching",
    "client_cost",
    "simulator",
    "throughput",
)
"""Each is a separate script.  ``scaling`` and ``simulator_peers`` take minutes and are not
included."""


def main() -> None:
    """Run them."""
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
