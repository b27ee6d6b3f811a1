"""Named streams of randomness.

Every purpose draws from a stream of its own, seeded by the run's seed, the node and the purpose.
Adding a node or a new purpose therefore shifts nobody else's draws, and a run is repeated exactly
by its seed, whatever the interpreter's hash seed is.
"""

from __future__ import annotations

from random import Random


def random_stream(seed: int | str, *names: str) -> Random:
    """The stream for one purpose: ``random_stream(seed, "broker-1", "nack-jitter")``."""
    return Random("/".join((str(seed), *names)))
