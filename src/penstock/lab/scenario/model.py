"""A scenario: a topology, a workload, the faults with their times, and the expected results.

One struct for each table of a scenario file (docs/reference/scenario.md).  Both worlds run the same
scenario.  scenario/file.py reads and checks files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from penstock.sim.message_source import Identity, SourceSpec
from penstock.sim.workload import Pattern

Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]
Rate = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]
BatchRows = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]

ParameterTable = dict[str, Any]
"""Parameters of a service by name; checked against the service's own struct."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a scenario file."""


class Parameters(Table, frozen=True, kw_only=True):
    """Parameters for every broker, by service."""

    guaranteed: ParameterTable = {}


class Broker(Table, frozen=True, kw_only=True):
    """One broker: what it hosts, and where it differs from the others."""

    pubends: NotNegative | tuple[str, ...] = 0
    guaranteed: ParameterTable = {}
    disk_sync_ms: PositiveSeconds = 1.0
    """Duration of a sync in the simulated world (0.25 to 4 ms on real machines)."""
    start_s: Seconds = 0.0
    """When the broker first starts: the other brokers do not know it before."""


class Link(Table, frozen=True, kw_only=True):
    """A link between two brokers, the same in both directions."""

    between: tuple[str, str]
    bandwidth_bytes_per_s: NotNegative = 0
    latency_ms: Seconds = 1.0
    jitter_ms: Seconds = 0.0
    queue_bytes: Positive = 5_000_000
    """Size of Gryphon's output queues (Pietzuch and Bhola, Section 5)."""
    loss: Share = 0.0
    cost: Positive = 1


class Publishers(Table, frozen=True, kw_only=True):
    """One or several publishers that differ only in their number."""

    name: str
    broker: str
    count: Count = 1
    pubend: str = ""
    producer: str = ""
    """The name under which it publishes (default: its own).  Two publishers that run at the same
    time under one name model a rolling restart."""
    rate_msgs_per_s: Rate = 0.0
    pattern: Pattern = "even"
    batch_rows: BatchRows = 1
    messages: NotNegative = 0
    max_in_flight: NotNegative = 0
    start_s: Seconds = 0.0
    stop_s: Seconds | None = None
    payload_bytes: NotNegative = 100
    wire_bytes: NotNegative = 0
    attributes: dict[str, str | int | float | bool] = {}
    identity: Identity = "payload"


class Subscribers(Table, frozen=True, kw_only=True):
    """One or several subscribers that differ only in their number."""

    name: str
    broker: str
    count: Count = 1
    selector: str = ""
    durable: bool = False
    start: Literal["now", "earliest"] = "now"
    start_s: Seconds = 0.0
    stop_s: Seconds | None = None
    window_bytes: Positive = 4 << 20
    read_msgs_per_s: Rate = 0.0


class BandwidthChange(Table, frozen=True, kw_only=True):
    """A new limit for a link; 0 means unlimited."""

    link: tuple[str, str]
    bytes_per_s: NotNegative


class Fault(Table, frozen=True, kw_only=True):
    """An event at an instant; exactly one of the keys below ``at_s`` is given."""

    at_s: Seconds
    cut: tuple[str, str] | None = None
    mend: tuple[str, str] | None = None
    crash: str | None = None
    restart: str | None = None
    bandwidth: BandwidthChange | None = None
    fill_disk: str | None = None
    free_disk: str | None = None
    fail_sync: str | None = None
    damage_log: str | None = None
    drop_client: str | None = None
    leave: str | None = None
    come_back: str | None = None
    close: str | None = None
    reopen: str | None = None
    add_pubend: str | None = None

    @property
    def kinds(self) -> list[str]:
        """The keys that are given."""
        names = [name for name in self.__struct_fields__ if name != "at_s"]
        return [name for name in names if getattr(self, name) is not None]


Aggregate = Literal["max", "min", "mean", "last", "first", "increase", "rate", "p50", "p99"]


class Measurement(Table, frozen=True, kw_only=True):
    """A number to measure in a run; docs/reference/scenario.md lists the metrics."""

    metric: str
    subject: str = ""
    node: str = ""
    from_s: Seconds = 0.0
    to_s: Seconds | None = None
    aggregate: Aggregate | None = None


class Expectation(Measurement, frozen=True, kw_only=True):
    """A bound on a measurement, or on the ratio of two."""

    at_most: float | None = None
    at_least: float | None = None
    divided_by: Measurement | None = None
    why: str = ""


class Scenario(Table, frozen=True, kw_only=True):
    """The content of a scenario file."""

    name: str
    duration_s: PositiveSeconds
    description: str = ""
    drain_s: Seconds = 30.0
    """How long the run waits at most, after its duration, for messages that are still due."""

    trace_interval_s: PositiveSeconds = 1.0
    parameters: Parameters = Parameters()
    brokers: dict[str, Broker]
    links: tuple[Link, ...] = ()
    publishers: tuple[Publishers, ...] = ()
    subscribers: tuple[Subscribers, ...] = ()
    faults: tuple[Fault, ...] = ()
    expect: tuple[Expectation, ...] = ()

    def pubends_of(self, broker: str) -> tuple[str, ...]:
        """The initial pubends of a broker: as given, or numbered after it."""
        given = self.brokers[broker].pubends
        if isinstance(given, int):
            return tuple(f"{broker}.{number}" for number in range(1, given + 1))
        return given

    def all_pubends_of(self, broker: str) -> tuple[str, ...]:
        """The initial pubends and those that are added during the scenario."""
        pubends = self.pubends_of(broker)
        for fault in self.faults:
            if fault.add_pubend == broker:
                pubends = grown(broker, pubends)
        return pubends


def grown(broker: str, pubends: tuple[str, ...]) -> tuple[str, ...]:
    """The pubends with one more."""
    return (*pubends, f"{broker}.{len(pubends) + 1}")


def each_publisher(scenario: Scenario) -> list[Publishers]:
    """All publishers one by one, with ``{i}`` replaced by their number."""
    return [single for group in scenario.publishers for single in _singles(group)]


def each_subscriber(scenario: Scenario) -> list[Subscribers]:
    """All subscribers one by one, with ``{i}`` replaced by their number."""
    return [single for group in scenario.subscribers for single in _singles(group)]


NUMBERED = ("broker", "pubend", "selector")
"""The keys in which ``{i}`` is replaced by the number of one of several publishers or subscribers.

Numbers start at 0.  In the name of a pubend, ``{i+1}`` starts at 1, as pubends do when they are
given as a number.
"""


def _singles(group: Any) -> list[Any]:
    singles = []
    for number in range(group.count):
        changes: dict[str, Any] = {"count": 1}
        if group.count > 1:
            changes["name"] = f"{group.name}{number}"
        for key in NUMBERED:
            text = getattr(group, key, None)
            if text is not None:
                changes[key] = text.replace("{i}", str(number)).replace("{i+1}", str(number + 1))
        singles.append(msgspec.structs.replace(group, **changes))
    return singles


def source_spec(scenario: Scenario, publisher: Publishers) -> SourceSpec:
    """What a publisher publishes."""
    hosted = scenario.all_pubends_of(publisher.broker)
    return SourceSpec(
        publisher.name,
        publisher.pubend or (hosted[0] if len(hosted) == 1 else ""),
        dict(publisher.attributes),
        publisher.payload_bytes,
        publisher.wire_bytes,
        publisher.batch_rows,
        publisher.identity,
    )
