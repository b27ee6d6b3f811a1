"""A measure: a question that every variant is measured with, in several cases.

1. A *case* is one size of the question (bytes of a message, messages per second, subscribers).
2. One *run* measures one variant in one case, and returns *figures*, one for each column.
3. A variant to which the question does not apply is left out; a run that fails gives a reason
   instead of figures, and does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from benchmarks.harness.server import Server
from benchmarks.peers.peer import Variant

Figures: TypeAlias = dict[str, float]


class Column(msgspec.Struct, frozen=True):
    """One figure of a run: its name, its format, and which value is better."""

    name: str
    form: str = "{:,.0f}"
    better: Literal["more", "less", ""] = ""


class Case(msgspec.Struct, frozen=True):
    """One size of the question."""

    name: str
    size: int


class Scale(msgspec.Struct, frozen=True):
    """How much work a run is."""

    name: str
    messages: int
    """For throughput; other measures use a fraction or a multiple of it."""
    seconds: float
    """For measures at a steady rate."""
    selectors: int
    backlog: int
    """The backlog of a consumer that was away."""
    rounds: int
    give_up_s: float
    """A longer run has lost messages, or its peer has stopped working."""


SCALES = {
    "small": Scale("small", 2_000, 0.5, 20, 2_000, 1, 30.0),
    "brief": Scale("brief", 20_000, 1.0, 200, 100_000, 1, 40.0),
    "full": Scale("full", 100_000, 3.0, 1_000, 1_000_000, 3, 120.0),
}
"""``small`` takes a few seconds for each measure and only shows that it works; ``brief`` takes
minutes; ``full`` is for a quiet machine."""


class Measure(msgspec.Struct, frozen=True):
    """A question, and how it is measured."""

    name: str
    title: str
    about: str
    """How it is measured, in a few sentences for the document."""
    columns: tuple[Column, ...]
    cases: Callable[[Scale], tuple[Case, ...]]
    run: Callable[[Variant, Server, Case, Scale], Figures]
    applies: Callable[[Variant], bool]
    rounds: Callable[[Scale], int]
