"""A broker's configuration: BROKER.toml as a frozen struct.

Every key is described in docs/reference/broker-config.md.  A key that is not known is refused with
the nearest one that is, because a misspelt limit that silently does nothing is found out too late.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from penstock.core.clock import seconds
from penstock.core.configuration import ConfigurationError, parse_toml, raised_as, read_table
from penstock.net.tcp.connection import ConnectionOptions
from penstock.overlay.node import NodeConfig
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.queues.parameters import (
    AliasConfig,
    QueueConfig,
    QueueParameters,
    check_configuration,
)

Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]
NotNegativeSeconds = Annotated[float, msgspec.Meta(ge=0)]

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names stand in log file names, on the command line and in telemetry; "/" and "@" mark the names
that the broker makes up itself (sessions, internal links)."""


def telemetry_pubend(broker: str) -> str:
    """The stream on which a broker publishes what it measures of itself."""
    return f"telemetry@{broker}"


class ConfigError(ConfigurationError):
    """The configuration cannot be used; the message names the key and what to do."""


class Address(msgspec.Struct, frozen=True):
    """A TCP address."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it stands in a configuration."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NeighbourConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One link of the overlay, as this end sees it."""

    address: str = ""
    """Where to dial; empty if only the neighbour dials."""

    cost: Positive = 1
    """What a path over this link counts in the choice of routes."""

    bandwidth_bytes_per_s: NotNegative = 0
    """How fast this end sends; 0 means as fast as the network lets it."""

    queue_bytes: Positive = 64 << 20
    """How much data may wait on this link; more is dropped and asked for again.  Half a second of
    what a loopback carries: long enough for the congestion control to notice."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client may ask of this broker."""

    max_sessions: Positive = 10_000
    """Client connections at once: each costs a receive buffer and an entry in several tables."""

    max_batch_rows: Positive = 65_536
    """Rows of one publication: far beyond where larger batches gain anything."""

    max_attributes: Positive = 256
    """Attributes of one message; each is a column that every filter on the way may read."""

    max_name_bytes: Positive = 255
    """Length of an attribute's name."""

    max_value_bytes: Positive = 65_536
    """Length of a string or bytes attribute; larger things belong into the payload."""

    max_payload_bytes: Positive = 8 << 20
    """Payload of one message; with its batch it must fit a frame and a segment of the log."""

    max_window_bytes: Positive = 16 << 20
    """The most that a subscription may have under way to its reader."""

    receive_buffers_bytes: Positive = 256 << 20
    """What incomplete large frames of all connections may take together; the one that was begun
    first is ended when more is needed.  Four of the largest frames, or 200 usual ones at once."""

    session_output_bytes: Positive = 64 << 20
    """The most that may wait for one client; it is disconnected when it lets more pile up."""


class TelemetryConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the broker measures of itself."""

    interval_s: NotNegativeSeconds = 1.0
    """How often; 0 means never."""

    directory: str = ""
    """Where ``penstock serve`` writes the records as Parquet; empty means nowhere."""

    publish: bool = False
    """Whether the broker also publishes them, on its own stream ``telemetry@NAME``."""

    run: str = ""
    """What the run is called in what is published; empty means as the broker."""


class DialConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a neighbour that cannot be reached is tried again."""

    first_delay_s: PositiveSeconds = 0.1
    """The pause after the first failure; it doubles with each further one."""

    longest_delay_s: PositiveSeconds = 5.0
    """Where the doubling stops: soon enough after a repair, seldom enough for a dead neighbour."""


class BrokerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a broker process is told."""

    name: str
    data_dir: str
    listen: str = "127.0.0.1:7400"
    datagram_port: Port = 0
    """Where datagrams are received; 0 means the number of the listening port, if it is free."""
    pubends: NotNegative | tuple[str, ...] = 1
    admin: bool = False
    """Whether links may be controlled from other machines than this one."""
    neighbours: dict[str, NeighbourConfig] = msgspec.field(default_factory=dict)
    limits: Limits = Limits()
    connection: ConnectionOptions = ConnectionOptions()
    dial: DialConfig = DialConfig()
    guaranteed: GuaranteedParameters = GuaranteedParameters()
    queues: dict[str, QueueConfig] = msgspec.field(default_factory=dict)
    aliases: dict[str, AliasConfig] = msgspec.field(default_factory=dict)
    queue_parameters: QueueParameters = QueueParameters()
    multicast: MulticastParameters = MulticastParameters()
    telemetry: TelemetryConfig = TelemetryConfig()

    @property
    def listen_address(self) -> Address:
        """Where to accept connections; port 0 lets the system choose one."""
        return parse_address(self.listen, "listen")

    @property
    def pubend_names(self) -> tuple[str, ...]:
        """The pubends' names: as given, or numbered after the broker."""
        if isinstance(self.pubends, int):
            return tuple(f"{self.name}.{number}" for number in range(1, self.pubends + 1))
        return self.pubends

    @property
    def own_pubends(self) -> tuple[str, ...]:
        """The streams on which the broker itself publishes."""
        return (telemetry_pubend(self.name),) if self.telemetry.publish else ()

    def node_config(self) -> NodeConfig:
        """What the machine itself needs to know."""
        return NodeConfig(
            name=self.name,
            neighbours={name: each.cost for name, each in sorted(self.neighbours.items())},
            pubends=(*self.pubend_names, *self.own_pubends),
            guaranteed=self.guaranteed,
            queues=tuple(self.queues.values()),
            aliases=tuple(self.aliases.values()),
            queue_parameters=self.queue_parameters,
            multicast=self.multicast,
            trace_interval_ns=seconds(self.telemetry.interval_s),
        )


def parse_address(text: str, key: str) -> Address:
    """``host:port`` or ``[host]:port``; ``key`` is what to name in an error."""
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f'{key}: {text!r} is not an address; write "host:port"')
    return Address(host.strip("[]") or "0.0.0.0", int(port))


def load_config(path: Path) -> BrokerConfig:
    """Read and check a file; a relative ``data_dir`` is relative to the file."""
    with raised_as(ConfigError, path):
        config = parse_config(parse_toml(path.read_text(encoding="utf-8")))
    return msgspec.structs.replace(config, data_dir=str(path.parent / config.data_dir))


def parse_config(raw: Mapping[str, Any]) -> BrokerConfig:
    """Check what a file says; raises ``ConfigError``."""
    tables = {**raw, **{key: _named(raw[key]) for key in ("queues", "aliases") if key in raw}}
    with raised_as(ConfigError):
        config = read_table(BrokerConfig, tables)
    _check(config)
    return config


def _named(tables: Any) -> Any:
    """Tables whose structs hold their own name, with that name."""
    if not isinstance(tables, dict):
        return tables
    return {
        name: {**table, "name": name} if isinstance(table, dict) else table
        for name, table in tables.items()
    }


def _check(config: BrokerConfig) -> None:
    """What the types alone do not say."""
    _check_name("name", config.name)
    config.listen_address  # noqa: B018 - reading is what validates
    for name, neighbour in config.neighbours.items():
        _check_name(f"neighbours.{name}", name)
        if name == config.name:
            raise ConfigError(f"neighbours.{name}: a broker is not its own neighbour; remove it")
        if neighbour.address:
            parse_address(neighbour.address, f"neighbours.{name}.address")
    for pubend in config.pubend_names:
        _check_name("pubends", pubend)
    if config.telemetry.run:
        _check_name("telemetry.run", config.telemetry.run)
    if config.telemetry.publish and not config.telemetry.interval_s:
        raise ConfigError("telemetry.publish: nothing is measured while telemetry.interval_s is 0")
    if len(set(config.pubend_names)) < len(config.pubend_names):
        raise ConfigError("pubends: a name stands twice; give each pubend its own")
    for name in (*config.queues, *config.aliases):
        _check_name("queues" if name in config.queues else "aliases", name)
    try:
        check_configuration(tuple(config.queues.values()), tuple(config.aliases.values()))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if config.dial.first_delay_s > config.dial.longest_delay_s:
        raise ConfigError("dial.first_delay_s: more than dial.longest_delay_s; make it less")
    if config.limits.max_payload_bytes > config.connection.max_frame_bytes // 2:
        raise ConfigError(
            "limits.max_payload_bytes: more than half of connection.max_frame_bytes; lower the "
            "one or raise the other"
        )


def _check_name(key: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{key}: {name!r} is not a name; use up to 64 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit"
        )
