"""A broker's configuration: BROKER.toml as a frozen struct.

Every key is described in docs/reference/broker-config.md.  A key that is not known is refused with
the nearest one that is, because a misspelt limit that silently does nothing is found out too late.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from penstock.core.clock import seconds
from penstock.core.configuration import (
    ConfigurationError,
    check_keys,
    check_name,
    field_types,
    parse_toml,
    raised_as,
    read_table,
    with_names,
)
from penstock.core.trace import telemetry_stream
from penstock.net.tcp.connection import ConnectionOptions
from penstock.overlay.node import NodeConfig
from penstock.services.registry import broker_services

Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]
Table = TypeVar("Table", bound=msgspec.Struct)

NotNegativeSeconds = Annotated[float, msgspec.Meta(ge=0)]


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
    admin: bool = False
    """Whether links may be controlled from other machines than this one."""
    neighbours: dict[str, NeighbourConfig] = msgspec.field(default_factory=dict)
    limits: Limits = Limits()
    connection: ConnectionOptions = ConnectionOptions()
    dial: DialConfig = DialConfig()
    telemetry: TelemetryConfig = TelemetryConfig()
    tables: tuple[Any, ...] = ()
    """The services' own keys, which stand at the top of the file beside the others: a table struct
    of each service that differs from its defaults (``ServiceDescription.table``)."""

    @property
    def listen_address(self) -> Address:
        """Where to accept connections; port 0 lets the system choose one."""
        return parse_address(self.listen, "listen")

    def table(self, kind: type[Table]) -> Table:
        """A service's own keys; their defaults if nothing was said."""
        return next((each for each in self.tables if isinstance(each, kind)), kind())

    @property
    def own_streams(self) -> tuple[str, ...]:
        """The streams on which the broker itself publishes."""
        return (telemetry_stream(self.name),) if self.telemetry.publish else ()

    @property
    def fair_links(self) -> bool:
        """Whether the flows of a link take turns on it, as some service wants."""
        return any(self.table(each.table).fair_links for each in broker_services() if each.table)

    def node_config(self) -> NodeConfig:
        """What the machine itself needs to know."""
        tables = [self.table(each.table) for each in broker_services() if each.table]
        return NodeConfig(
            name=self.name,
            neighbours={name: each.cost for name, each in sorted(self.neighbours.items())},
            settings=tuple(each.settings_for(self.name) for each in tables),
            own_streams=self.own_streams,
            trace_interval_ns=seconds(self.telemetry.interval_s),
        )


def broker_config(name: str, data_dir: str, **keys: Any) -> BrokerConfig:
    """A configuration from the keys of BROKER.toml, the services' own among them, as values."""
    tables = []
    for service in broker_services():
        if service.table is not None:
            own = [key for key in field_types(service.table) if key in keys]
            table = service.table(**{key: keys.pop(key) for key in own})
            if table != service.table():
                tables.append(table)
    return BrokerConfig(name, data_dir, tables=tuple(tables), **keys)


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
    with raised_as(ConfigError):
        return _parsed(raw)


def _parsed(raw: Mapping[str, Any]) -> BrokerConfig:
    kinds = [each.table for each in broker_services() if each.table]
    own_keys = [key for key in field_types(BrokerConfig) if key != "tables"]
    check_keys(raw, [*own_keys, *(key for kind in kinds for key in field_types(kind))])
    own = {key: value for key, value in raw.items() if key in own_keys}
    tables = [_read(kind, raw) for kind in kinds]
    config = msgspec.structs.replace(
        read_table(BrokerConfig, with_names(BrokerConfig, own)),
        tables=tuple(each for each in tables if each != type(each)()),
    )
    _check(config)
    return config


def _read(kind: type[Any], raw: Mapping[str, Any]) -> Any:
    """A service's own keys."""
    keys = {key: raw[key] for key in field_types(kind) if key in raw}
    return read_table(kind, with_names(kind, keys))


def _check(config: BrokerConfig) -> None:
    """What the types alone do not say."""
    check_name("name", config.name)
    config.listen_address  # noqa: B018 - reading is what validates
    for name, neighbour in config.neighbours.items():
        if name == config.name:
            raise ConfigError(f"neighbours.{name}: a broker is not its own neighbour; remove it")
        if neighbour.address:
            parse_address(neighbour.address, f"neighbours.{name}.address")
    if config.telemetry.run:
        check_name("telemetry.run", config.telemetry.run)
    if config.telemetry.publish and not config.telemetry.interval_s:
        raise ConfigError("telemetry.publish: nothing is measured while telemetry.interval_s is 0")
    for service in broker_services():
        if service.table is not None:
            _check_table(config.table(service.table), config.name)
    if config.dial.first_delay_s > config.dial.longest_delay_s:
        raise ConfigError("dial.first_delay_s: more than dial.longest_delay_s; make it less")
    if config.limits.max_payload_bytes > config.connection.max_frame_bytes // 2:
        raise ConfigError(
            "limits.max_payload_bytes: more than half of connection.max_frame_bytes; lower the "
            "one or raise the other"
        )


def _check_table(table: Any, broker: str) -> None:
    try:
        table.check(broker)
    except ConfigurationError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from None
