"""The cost of a fact or an order: msgspec structs against the alternatives of the standard library.

Run with ``python -m benchmarks.struct_cost``.  Every step of a machine builds at least one fact and
usually several orders, so the cost of construction is paid for each message that is handled.  The
figures are in docs/decisions/0001-msgspec-structs.md.
"""

from __future__ import annotations

import gc
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from penstock.core.machine import Send

CALLS = 50_000
ALIVE = 200_000
REPEATS = 9
"""The figure is the minimum of this many repetitions: the rest is noise of the machine."""


@dataclass(frozen=True, slots=True)
class FrozenDataclass:
    """The style guide's example."""

    link: str
    message: Any
    priority: int = 1


@dataclass(slots=True)
class MutableDataclass:
    """The same, but mutable."""

    link: str
    message: Any
    priority: int = 1


class NamedTupleOrder(NamedTuple):
    """Immutable, but equal to any other tuple with the same fields."""

    link: str
    message: Any
    priority: int = 1


class TrackedStruct(msgspec.Struct, frozen=True):
    """A frozen struct that the garbage collector tracks."""

    link: str
    message: Any
    priority: int = 1


KINDS: dict[str, Callable[..., Any]] = {
    "msgspec, frozen, gc=False (chosen)": Send,
    "msgspec, frozen": TrackedStruct,
    "dataclass, frozen, slots": FrozenDataclass,
    "dataclass, slots, mutable": MutableDataclass,
    "NamedTuple": NamedTupleOrder,
}


def nanoseconds(statement: str, **names: object) -> float:
    """The time of a statement, as source text, so that no other call is counted."""
    return min(timeit.repeat(statement, globals=names, number=CALLS, repeat=REPEATS)) / CALLS * 1e9


def collection_ms(make: Callable[..., Any]) -> float:
    """One full garbage collection while many are alive, each with a tracked message."""
    message: list[int] = []
    alive = [make("broker-2", message) for _ in range(ALIVE)]
    gc.collect()
    spent = min(timeit.repeat(gc.collect, number=1, repeat=REPEATS)) * 1e3
    assert len(alive) == ALIVE
    return spent


def main() -> None:
    """Print one line for each kind."""
    print(f"Python {sys.version.split()[0]}, msgspec {msgspec.__version__}")
    print(f"{'kind':36}{'construct ns':>13}{'equal ns':>10}{'bytes':>7}{'collect ms':>12}")
    for name, make in KINDS.items():
        one, other = make("broker-2", "message"), make("broker-2", "message")
        construct = nanoseconds("make('broker-2', 'message')", make=make)
        equal = nanoseconds("one == other", one=one, other=other)
        size = sys.getsizeof(one)
        print(f"{name:36}{construct:13.0f}{equal:10.0f}{size:7}{collection_ms(make):12.1f}")


if __name__ == "__main__":
    main()
