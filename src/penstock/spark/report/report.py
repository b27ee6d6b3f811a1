"""A report on runs: everything that Spark computes about them, as plain structs.

The tables of the command line, the JSON and the HTML page are all built from a ``Report``;
docs/reference/lake.md documents it field by field.
"""

from __future__ import annotations

import msgspec

from penstock.lab.telemetry.run_records import RunFacts


class Rate(msgspec.Struct, frozen=True):
    """The messages of a pubend, subscription or queue."""

    run: str
    node: str
    subject: str
    metric: str
    messages: float
    mean_msgs_per_s: float
    peak_msgs_per_s: float


class Link(msgspec.Struct, frozen=True):
    """The traffic of one direction of a link."""

    run: str
    link: str
    sent_bytes: float
    mean_bytes_per_s: float | None
    utilisation: float | None
    """None if the link has no limit."""
    waiting_share: float
    most_queued_bytes: float
    sent_messages: float
    dropped_messages: float


class Queue(msgspec.Struct, frozen=True):
    """The size of a queue or buffer."""

    run: str
    node: str
    subject: str
    metric: str
    largest: float
    p99: float
    mean: float
    last: float


class Fairness(msgspec.Struct, frozen=True):
    """Jain's index among pubends or subscriptions."""

    run: str
    among: str
    members: int
    jain: float


class Recovery(msgspec.Struct, frozen=True):
    """An edge that was behind; ``recovery_s`` is None if it did not catch up in the run."""

    run: str
    broker: str
    from_s: float
    furthest_s: float
    recovery_s: float | None


class Bottleneck(msgspec.Struct, frozen=True):
    """A cause, and how many pubend-seconds it limited."""

    run: str
    broker: str
    link: str
    limited_s: float
    decisions: int
    pubends: int
    lowest_msgs_per_s: float
    share: float


class Fault(msgspec.Struct, frozen=True):
    """A fault that the scenario injected."""

    run: str
    at_s: float
    kind: str
    subject: str


class Point(msgspec.Struct, frozen=True):
    """One value of one curve."""

    run: str
    metric: str
    name: str
    """The edge or link; empty for sums over the run."""
    at_s: float
    value: float


class Summary(msgspec.Struct, frozen=True):
    """One run in one line; None if the run has no value."""

    run: str
    facts: RunFacts | None
    """None for brokers that run outside a scenario."""
    seconds: float
    rows: int
    published_msgs_per_s: float
    delivered_msgs_per_s: float
    lost: int | None
    duplicated: int | None
    out_of_order: int | None
    dropped_messages: float
    most_utilised_link: str
    utilisation: float | None
    most_queued_bytes: float
    pubend_jain: float | None
    subscription_jain: float | None
    recovery_s: float | None
    """The longest recovery that finished."""
    unrecovered: int
    """Edges that were behind when the run ended."""
    limited_s: float
    bottleneck: str


class Report(msgspec.Struct, frozen=True):
    """Everything about some runs, in the order of the request."""

    lake: str
    runs: list[Summary]
    rates: list[Rate]
    links: list[Link]
    queues: list[Queue]
    fairness: list[Fairness]
    recoveries: list[Recovery]
    bottlenecks: list[Bottleneck]
    faults: list[Fault]
    series: list[Point]
