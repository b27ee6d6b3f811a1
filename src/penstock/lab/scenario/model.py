"""A scenario: brokers, links, clients of any services, faults with their times, expected results.

One struct for each table of a scenario file (docs/reference/scenario.md).  Both worlds run the same
scenario.  scenario/file.py reads and checks files; scenario/numbering.py turns a table with a
``count`` into as many single ones.

The keys of a service are not known here: a broker's are those of BROKER.toml, and a client's are
those of its role in its service (``penstock.lab.service``).
"""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from penstock.overlay.drop_tail import LIMIT_MESSAGES

Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]
Rate = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

Keys = dict[str, Any]
"""Keys of a service by name; checked against the service's own struct."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a scenario file."""


class Broker(Table, frozen=True, kw_only=True):
    """One broker, or several that differ only in their number."""

    name: str
    """Stands in the names of links and in telemetry."""
    count: Count = 1
    """How many brokers the table stands for."""
    disk_sync_ms: PositiveSeconds = 1.0
    """Duration of a sync in the simulated world (0.25 to 4 ms on real machines)."""
    start_s: Seconds = 0.0
    """When the broker first starts: the other brokers do not know it before."""
    keys: Keys = {}
    """The services' own keys, which stand beside the others in the file."""


class LinkChange(Table, frozen=True, kw_only=True):
    """What changes about a link at a time; what is not given stays."""

    at_s: Seconds
    bandwidth_bytes_per_s: NotNegative | None = None
    """In each direction; 0 means unlimited."""
    latency_ms: Seconds | None = None
    """In the simulated world."""
    jitter_ms: Seconds | None = None
    """In the simulated world."""
    loss: Share | None = None
    """In the simulated world."""


class Link(Table, frozen=True, kw_only=True):
    """A link between two brokers, the same in both directions, or several of the kind."""

    between: tuple[str, str]
    """Two brokers."""
    count: Count = 1
    """How many links the table stands for."""
    bandwidth_bytes_per_s: NotNegative = 0
    """In each direction; 0 means unlimited."""
    latency_ms: Seconds = 1.0
    """In the simulated world."""
    jitter_ms: Seconds = 0.0
    """The latency varies by up to this, in the simulated world; messages stay in order."""
    queue_bytes: Positive = 5_000_000
    """Data beyond this is dropped and requested again.  The default is the size of Gryphon's output
    queues (Pietzuch and Bhola, Section 5)."""
    loss: Share = 0.0
    """The share of data messages that are lost, in the simulated world."""
    cost: Positive = 1
    """What the link costs in the choice of routes."""
    window_bytes: NotNegative = 0
    """Unacknowledged bytes that the link's own protocol takes before messages wait in the broker,
    in the simulated world; real links have the window of their TCP connection."""
    datagram_queue_messages: Positive = LIMIT_MESSAGES
    """How many best-effort messages may wait; the next one is dropped."""
    datagram_bytes: NotNegative = 0
    """Size of every best-effort message in the simulated world; 0 means its encoded size.  Between
    network namespaces the kernel's queue holds ``datagram_queue_messages`` of this size."""
    changes: tuple[LinkChange, ...] = ()
    """What changes about the link, and when."""


class PeerNetwork(Table, frozen=True, kw_only=True):
    """The simulated network between clients that need no broker."""

    latency_ms: Seconds = 2.0
    jitter_ms: Seconds = 2.0
    loss: Share = 0.0
    """The share of datagrams that are lost, also in the network world."""


class Access(Table, frozen=True, kw_only=True):
    """The simulated path between a client and its broker."""

    latency_ms: Seconds = 0.1
    jitter_ms: Seconds = 0.0
    """The latency varies by up to this; messages stay in order."""


class CrossTraffic(Table, frozen=True, kw_only=True):
    """A TCP connection of other programs over a link, which sends as much as it can."""

    name: str
    """The subject of its telemetry."""
    between: tuple[str, str]
    """From the first to the second."""
    start_s: Seconds = 0.0
    stop_s: Seconds | None = None
    """When it ends; by default with the scenario."""
    segment_bytes: Annotated[int, msgspec.Meta(ge=100, le=1500)] = 1500
    """The size of a full segment on the link, with all headers."""
    access: Access = Access(latency_ms=1.0)
    """The path of the sender to the link."""


class Client(Table, frozen=True, kw_only=True):
    """A client of a service, or several that differ only in their number."""

    service: str
    role: str = ""
    """What it does; may be left out where a service has one role."""
    name: str
    """Names it in histories, telemetry and faults; must differ from all others."""
    broker: str = ""
    """The broker that it connects to, where its service needs one."""
    count: Count = 1
    """How many clients the table stands for."""
    start_s: Seconds = 0.0
    start_every_s: Seconds = 0.0
    """Of several clients each starts this much later than the one before."""
    start_within_s: Seconds = 0.0
    """Each starts at a random time within this interval after its start."""
    stop_s: Seconds | None = None
    """When it stops for the rest of the run; by default at the end."""
    stop_every_s: Seconds = 0.0
    """Of several clients each stops this much later than the one before."""
    access: Access | None = None
    """The simulated path to its broker; by default 0.1 ms, without jitter."""
    group_of: str = ""
    """The name of the table that it was counted from; set by numbering."""

    needs_broker: ClassVar[bool] = True
    ends_itself: ClassVar[bool] = False
    """Whether it is told when to stop, and then finishes what it has begun."""

    @property
    def can_close(self) -> bool:
        """Whether its application can close and open again (faults ``close`` and ``reopen``)."""
        return False

    @property
    def subjects(self) -> frozenset[str]:
        """The names by which a measurement can choose it."""
        return frozenset((self.name, self.group_of, self.broker)) - {""}


class BandwidthChange(Table, frozen=True, kw_only=True):
    """A new limit for a link; 0 means unlimited."""

    link: tuple[str, str]
    bytes_per_s: NotNegative
    """In each direction; 0 means unlimited."""


class Reconfiguration(Table, frozen=True, kw_only=True):
    """A broker is restarted with other values of its keys."""

    broker: str
    keys: Keys
    """The keys that change, which stand beside ``broker`` in the file."""


class Pause(Table, frozen=True, kw_only=True):
    """A broker's process gets no processor for a while; what arrives waits."""

    broker: str
    for_s: Annotated[float, msgspec.Meta(gt=0)]
    every_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Again after this time, which must be longer than the pause; only once if it is not given."""
    until_s: Seconds = 0.0
    """When the last pause may begin, if there are several."""

    def begins_s(self, first_s: float) -> list[float]:
        """When each of the pauses begins."""
        if self.every_s is None:
            return [first_s]
        count = max(1, ceil((self.until_s - first_s) / self.every_s))
        return [first_s + number * self.every_s for number in range(count)]


class Fault(Table, frozen=True, kw_only=True):
    """An event at an instant; exactly one of the keys below ``at_s`` is given."""

    at_s: Seconds
    cut: tuple[str, str] | None = None
    """A link fails and loses everything on it."""
    mend: tuple[str, str] | None = None
    """A link is restored."""
    crash: str | None = None
    """A broker loses power (in the network world: ``kill -9``)."""
    restart: str | None = None
    """A broker starts again from its disk."""
    pause: Pause | None = None
    """A broker's process gets no processor (in the network world: ``SIGSTOP``)."""
    bandwidth: BandwidthChange | None = None
    """A link has a new limit."""
    fill_disk: str | None = None
    """A broker's disk is full."""
    free_disk: str | None = None
    """The disk has space again."""
    fail_sync: str | None = None
    """The next sync of a broker's disk fails; a crash shows whether its data is stored."""
    damage_log: str | None = None
    """A durable record in a broker's logs becomes unreadable."""
    drop_client: str | None = None
    """A client's connection breaks; the client connects again."""
    leave: str | None = None
    """A client disconnects."""
    come_back: str | None = None
    """A client that left connects again."""
    close: str | None = None
    """A client closes what it has opened, such as a durable subscription."""
    reopen: str | None = None
    """A new program opens it again."""
    reconfigure: Reconfiguration | None = None
    """A broker is restarted with other values of its keys."""

    @property
    def kinds(self) -> list[str]:
        """The keys that are given."""
        return [name for name in FAULT_KINDS if getattr(self, name) is not None]

    @property
    def subject(self) -> str:
        """What it happens to: a link ``a-b``, a broker or a client."""
        (kind,) = self.kinds
        value = getattr(self, kind)
        if isinstance(value, BandwidthChange):
            value = value.link
        elif isinstance(value, Reconfiguration | Pause):
            value = value.broker
        return value if isinstance(value, str) else "-".join(value)


FAULT_KINDS = tuple(name for name in Fault.__struct_fields__ if name != "at_s")

Aggregate = Literal[
    "max",
    "min",
    "mean",
    "last",
    "first",
    "increase",
    "rate",
    "p50",
    "p99",
    "count",
    "last_at_s",
    "until_at_most_s",
    "until_at_least_s",
    "jain",
    "variation",
]


class Measurement(Table, frozen=True, kw_only=True):
    """A number to measure in a run; docs/reference/scenario.md lists the metrics."""

    metric: str
    name: str = ""
    """What tables and sweeps call it; by default its description in words."""
    service: str = ""
    """Needed where several services of the scenario have a metric of this name."""
    subject: str = ""
    """What it is measured of; by default everything."""
    node: str = ""
    """The broker or client that recorded it, for telemetry."""
    from_s: Seconds = 0.0
    """The beginning of the window."""
    to_s: Seconds | None = None
    """The end of the window; by default that of the run."""
    aggregate: Aggregate | None = None
    threshold: float | None = None
    """For ``until_at_most_s`` and ``until_at_least_s``."""


class Expectation(Measurement, frozen=True, kw_only=True):
    """A bound on a measurement, or on the ratio of two."""

    at_most: float | None = None
    at_least: float | None = None
    divided_by: Measurement | None = None
    """The divisor, if a ratio is bounded."""
    why: str = ""
    """Printed if the expectation does not hold."""


class Scenario(Table, frozen=True, kw_only=True):
    """The content of a scenario file."""

    name: str
    """Names the run in files and reports."""
    duration_s: PositiveSeconds
    """How long clients work."""
    description: str = ""
    """For people."""
    drain_s: Seconds = 30.0
    """How long the run waits at most, after its duration, for messages that are still due."""

    trace_interval_s: PositiveSeconds = 1.0
    """How often everything is measured, unless the command says otherwise."""
    parameters: Keys = {}
    """Keys for every broker, and parameters of clients by service; a broker's or a client's own
    values go before them."""
    brokers: tuple[Broker, ...] = ()
    links: tuple[Link, ...] = ()
    peer_network: PeerNetwork = PeerNetwork()
    clients: tuple[Any, ...] = ()
    """Each an instance of its role's own struct, which is a ``Client``."""
    cross_traffic: tuple[CrossTraffic, ...] = ()
    faults: tuple[Fault, ...] = ()
    expect: tuple[Expectation, ...] = ()

    def broker(self, name: str) -> Broker:
        """One broker by its name."""
        return next(each for each in self.brokers if each.name == name)

    @property
    def services(self) -> tuple[str, ...]:
        """The services that have clients, in the order of the file."""
        return tuple(dict.fromkeys(each.service for each in self.clients))
