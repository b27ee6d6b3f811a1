"""A broker's configuration: BROKER.toml as a frozen struct.

Every key is described in docs/reference/broker-config.md.  An unknown key is refused, with the
nearest known key in the error, because a misspelt limit without effect is discovered too late.
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
    raised_as,
    read_file,
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
        """Format the address as in a configuration."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NeighbourConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One link of the overlay, as this end sees it."""

    address: str = ""
    """The address to dial; empty if only the neighbour dials."""

    cost: Positive = 1
    """The cost of this link in the choice of routes."""

    bandwidth_bytes_per_s: NotNegative = 0
    """The rate at which this end sends; 0 means as fast as the network allows."""

    queue_bytes: Positive = 64 << 20
    """How much data may be queued on this link; more is dropped and requested again.  Half a second
    of the traffic of a loopback: long enough for the congestion control to notice."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on what clients may request from this broker."""

    max_sessions: Positive = 10_000
    """Concurrent client connections: each costs a receive buffer and entries in several tables."""

    max_batch_rows: Positive = 65_536
    """Rows of one publication: far above the size from which larger batches gain nothing."""

    max_attributes: Positive = 256
    """Attributes of one message; each is a column that every filter on the way may read."""

    max_name_bytes: Positive = 255
    """Length of an attribute's name."""

    max_value_bytes: Positive = 65_536
    """Length of a string or bytes attribute; larger values belong in the payload."""

    max_payload_bytes: Positive = 8 << 20
    """Payload of one message; with its batch it must fit a frame and a segment of the log."""

    max_window_bytes: Positive = 16 << 20
    """The most bytes that a subscription may have in flight to its reader."""

    receive_buffers_bytes: Positive = 256 << 20
    """Memory for the incomplete large frames of all connections together; when more is needed, the
    connection with the oldest incomplete frame is ended.  Four of the largest frames, or 200 usual
    ones at once."""

    session_output_bytes: Positive = 64 << 20
    """The most output that may be queued for one client; a client with more is disconnected."""


class TelemetryConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The broker's measurements of itself."""

    interval_s: NotNegativeSeconds = 1.0
    """How often; 0 means never."""

    directory: str = ""
    """Where ``penstock serve`` writes the records as Parquet; empty means that it writes none."""

    publish: bool = False
    """Whether the broker also publishes them, on its own stream ``telemetry@NAME``."""

    run: str = ""
    """The name of the run in published records; empty means the broker's name."""


class DialConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pauses between attempts to dial a neighbour that cannot be reached."""

    first_delay_s: PositiveSeconds = 0.1
    """The pause after the first failure; it doubles with each further one."""

    longest_delay_s: PositiveSeconds = 5.0
    """Upper bound of the pause: reconnects soon after a repair, rarely dials a dead neighbour."""


class BrokerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration of a broker process."""

    name: str
    data_dir: str
    listen: str = "127.0.0.1:7400"
    datagram_port: Port = 0
    """The UDP port for datagrams; 0 means the number of the listening TCP port, if it is free."""
    admin: bool = False
    """Whether links may be controlled from other machines than this one."""
    neighbours: dict[str, NeighbourConfig] = msgspec.field(default_factory=dict)
    limits: Limits = Limits()
    connection: ConnectionOptions = ConnectionOptions()
    dial: DialConfig = DialConfig()
    telemetry: TelemetryConfig = TelemetryConfig()
    tables: tuple[Any, ...] = ()
    """The services' own keys, which are top-level keys of the file beside the others: one table
    struct for each service that differs from its defaults (``ServiceDescription.table``)."""

    @property
    def listen_address(self) -> Address:
        """The address to listen at; port 0 lets the system choose one."""
        return parse_address(self.listen, "listen")

    def table(self, kind: type[Table]) -> Table:
        """A service's own keys; their defaults if none are configured."""
        return next((each for each in self.tables if isinstance(each, kind)), kind())

    @property
    def own_streams(self) -> tuple[str, ...]:
        """The streams on which the broker itself publishes."""
        return (telemetry_stream(self.name),) if self.telemetry.publish else ()

    @property
    def fair_links(self) -> bool:
        """Whether any service asks for fair queuing of the flows on a link."""
        return any(self.table(each.table).fair_links for each in broker_services() if each.table)

    def node_config(self) -> NodeConfig:
        """The configuration of the machine."""
        tables = [self.table(each.table) for each in broker_services() if each.table]
        return NodeConfig(
            name=self.name,
            neighbours={name: each.cost for name, each in sorted(self.neighbours.items())},
            settings=tuple(each.settings_for(self.name) for each in tables),
            own_streams=self.own_streams,
            trace_interval_ns=seconds(self.telemetry.interval_s),
        )


def broker_config(name: str, data_dir: str, **keys: Any) -> BrokerConfig:
    """Build a configuration from the keys of BROKER.toml, including the services' own keys."""
    tables = []
    for service in broker_services():
        if service.table is not None:
            own = [key for key in field_types(service.table) if key in keys]
            table = service.table(**{key: keys.pop(key) for key in own})
            if table != service.table():
                tables.append(table)
    return BrokerConfig(name, data_dir, tables=tuple(tables), **keys)


def parse_address(text: str, key: str) -> Address:
    """Parse ``host:port`` or ``[host]:port``; errors name ``key``."""
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f'{key}: {text!r} is not an address; write "host:port"')
    return Address(host.strip("[]") or "0.0.0.0", int(port))


def load_config(path: Path) -> BrokerConfig:
    """Read and check a file; a relative ``data_dir`` is relative to the file."""
    config = read_file(path, ConfigError, parse_config)
    return msgspec.structs.replace(config, data_dir=str(path.parent / config.data_dir))


def parse_config(raw: Mapping[str, Any]) -> BrokerConfig:
    """Check the content of a file; raises ``ConfigError``."""
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
    keys = {key: raw[key] for key in field_types(kind) if key in raw}
    return read_table(kind, with_names(kind, keys))


def _check(config: BrokerConfig) -> None:
    """Check the rules that types cannot express."""
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
