"""What a history is: everything that the applications of one service saw in a run.

A history knows nothing of brokers or protocols.  The clients of a run write it, the same way in
both worlds; the judge of the service decides whether it breaks a promise, and measurements are
taken from it (penstock.lab.telemetry.measure).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from penstock.lab.oracle.judgement import Judgement

Instants: TypeAlias = npt.NDArray[np.int64]
Values: TypeAlias = npt.NDArray[np.float64]


class Events(NamedTuple):
    """What one client saw of a metric: when, and the value of each event."""

    at: Instants
    values: Values


def counted(instants: Iterable[int]) -> Events:
    """Events that count 1 each."""
    at = np.array(instants, np.int64)
    return Events(at, np.ones(len(at)))


class Metric(msgspec.Struct, frozen=True):
    """A quantity that is measured from a history.

    A *count* is the number of its events (their values added), a *sample* has a value at each
    event, and a *rule* is counted over the whole run by the judge.
    """

    meaning: str
    kind: Literal["count", "sample", "rule"] = "count"
    in_scenario_seconds: bool = False
    """Whether its value shrinks with the time of a shortened scenario."""


class History(Protocol):
    """What the applications of one service saw."""

    @property
    def delivered(self) -> int:
        """Messages that all receiving clients received."""
        ...

    @property
    def pending(self) -> int:
        """Messages whose senders still wait for an outcome."""
        ...

    def complete(self) -> bool:
        """Whether nothing more has to arrive.  Asked only when nothing is pending."""
        ...

    def judge(self) -> Judgement:
        """Apply the rules of the service."""
        ...

    def events(self, metric: str) -> Mapping[str, Events]:
        """The events of one of the service's metrics, by client; never those of a rule."""
        ...

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """Client, metric and number, for the record of a run."""
        ...
