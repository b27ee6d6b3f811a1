"""Named streams of randomness.

Every purpose draws from a stream of its own, seeded by the seed of the run, the node and the
purpose.  Adding a node or a purpose therefore does not change the draws of the others, and a seed
repeats a run exactly, whatever the hash seed of the interpreter is.
"""

from __future__ import annotations

from random import Random


def random_stream(seed: int | str, *names: str) -> Random:
    """The stream for one purpose: ``random_stream(seed, "broker-1", "nack-jitter")``."""
    return Random("/".join((str(seed), *names)))
