"""Reads and checks a scenario file; every error names the file, the key and what is allowed.

1. Keys, types and ranges are checked against the structs in model.py, the keys of a broker against
   those of BROKER.toml, and those of a client against the table of its role in its service.
2. Every reference to a broker, link or client must name one that exists.
3. Every service checks what concerns it (``LabService.check``).
4. Every expectation must name a metric that a run of this scenario can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.core.configuration import (
    ConfigurationError,
    check_keys,
    field_types,
    raised_as,
    read_file,
    read_table,
    suggestion,
)
from penstock.lab.scenario.broker_tables import broker_tables, service_keys
from penstock.lab.scenario.convert.convert import is_old_form
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.metrics import check_measurement
from penstock.lab.scenario.model import (
    FAULT_KINDS,
    Broker,
    Client,
    Fault,
    Pause,
    Reconfiguration,
    Scenario,
)
from penstock.lab.scenario.numbering import expanded
from penstock.lab.service import LabService, lab_services

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names are used in file names, in telemetry and in link names such as "ib->sb"."""

SET_BY_NUMBERING = ("group_of",)


def load_scenario(path: Path) -> Scenario:
    """Read and check a file; raises ``ScenarioError``."""
    return read_file(path, ScenarioError, lambda raw: parse_scenario(raw, str(path)))


def parse_scenario(raw: Mapping[str, Any], source: str = "FILE") -> Scenario:
    """Check what a file says; raises ``ScenarioError``."""
    if former := is_old_form(raw):
        raise ScenarioError(
            f"{former}; this is a former form of scenario files, convert it with: "
            f"penstock scenario convert {source}"
        )
    with raised_as(ScenarioError):
        scenario = read_scenario(raw)
    check_scenario(scenario)
    return scenario


# -- reading ---------------------------------------------------------------------------------------


def read_scenario(raw: Mapping[str, Any]) -> Scenario:
    """The tables as structs; raises ``ConfigurationError`` for keys and types."""
    check_keys(raw, field_types(Scenario))
    common = {key: value for key, value in raw.items() if key not in ("brokers", "clients")}
    common["faults"] = [_fault(each) for each in _tables(raw, "faults")]
    return read_table(
        Scenario,
        {
            **common,
            "brokers": [
                _broker(each, f"brokers[{place}]")
                for place, each in enumerate(_tables(raw, "brokers"))
            ],
            "clients": [
                _client(each, f"clients[{place}]")
                for place, each in enumerate(_tables(raw, "clients"))
            ],
        },
    )


def _tables(raw: Mapping[str, Any], key: str) -> list[Any]:
    found = raw.get(key, [])
    if not isinstance(found, list):
        raise ConfigurationError(f"{key}: expected a list of tables, each under [[{key}]]")
    return found


def _broker(raw: Any, where: str) -> dict[str, Any]:
    """A broker with the services' keys in a table of their own."""
    if not isinstance(raw, Mapping):
        raise ConfigurationError(f"{where}: expected a table, such as [[brokers]]")
    own = [key for key in field_types(Broker) if key != "keys"]
    hosted = service_keys()
    for key in raw:
        if key not in own and key not in hosted:
            raise ConfigurationError(
                f"{where}.{key}: unknown key; {suggestion(key, [*own, *hosted])}"
            )
    keys = {key: value for key, value in raw.items() if key in hosted}
    return {**{key: value for key, value in raw.items() if key in own}, "keys": keys}


def _client(raw: Any, where: str) -> Client:
    if not isinstance(raw, Mapping):
        raise ConfigurationError(f"{where}: expected a table, such as [[clients]]")
    services = lab_services()
    service = raw.get("service")
    if not isinstance(service, str) or service not in services:
        what = "missing" if service is None else f"there is no service {service!r}"
        raise ConfigurationError(
            f"{where}.service: {what}; {suggestion(str(service or ''), services)}"
        )
    role = _role(services[service], raw.get("role", ""), where)
    for key in SET_BY_NUMBERING:
        if key in raw:
            raise ConfigurationError(f"{where}.{key}: unknown key; remove it")
    return read_table(services[service].roles[role], {**raw, "role": role}, where)


def _role(service: LabService, role: Any, where: str) -> str:
    roles = service.roles
    if role == "" and len(roles) == 1:
        return next(iter(roles))
    if not isinstance(role, str) or role not in roles:
        what = "missing" if role == "" else f"{service.name} has no role {role!r}"
        raise ConfigurationError(f"{where}.role: {what}; {suggestion(str(role), roles)}")
    return role


def _fault(raw: Any) -> Any:
    """A fault; the keys of a reconfigured broker stand beside its name."""
    changes = raw.get("reconfigure") if isinstance(raw, Mapping) else None
    if not isinstance(changes, Mapping) or "keys" in changes:
        return raw
    keys = {key: value for key, value in changes.items() if key != "broker"}
    broker = {key: value for key, value in changes.items() if key == "broker"}
    return {**raw, "reconfigure": {**broker, "keys": keys}}


# -- checking --------------------------------------------------------------------------------------


def check_scenario(scenario: Scenario) -> None:
    """Check what the types do not express; raises ``ScenarioError``."""
    _check_name("name", scenario.name)
    single = expanded(scenario)
    if not single.brokers and not single.clients:
        raise ScenarioError("brokers: a scenario needs brokers or clients, such as [[brokers]]")
    _check_parameters(scenario)
    _check_brokers(single)
    tables = [place for place, each in enumerate(scenario.links) for _ in range(each.count)]
    _check_links(single, tables)
    for table in scenario.clients:
        _check_stay(table)
    _check_clients(single)
    for place, fault in enumerate(single.faults):
        _check_fault(single, f"faults[{place}]", fault)
    for service in single.services:
        lab_services()[service].check(single)
    for place, expectation in enumerate(single.expect):
        where = f"expect[{place}]"
        if expectation.at_most is None and expectation.at_least is None:
            raise ScenarioError(f"{where}: set at_most or at_least, or both")
        check_measurement(single, where, expectation)
        if expectation.divided_by is not None:
            check_measurement(single, f"{where}.divided_by", expectation.divided_by)


def _check_name(where: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ScenarioError(
            f"{where}: {name!r} is not a name; use up to 64 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit"
        )


def _check_parameters(scenario: Scenario) -> None:
    """The keys of brokers are checked with the brokers, those of clients with the clients."""
    services = lab_services().values()
    known = [*service_keys(), *(each.name for each in services if each.client_parameters)]
    for key in scenario.parameters:
        if key not in known:
            raise ScenarioError(f"parameters.{key}: unknown key; {suggestion(key, known)}")


def _check_brokers(scenario: Scenario) -> None:
    hosts: dict[str, str] = {}
    for broker in scenario.brokers:
        _check_name(f"brokers {broker.name!r}.name", broker.name)
        if broker.name in hosts:
            raise ScenarioError(f"brokers {broker.name!r}.name: another broker has this name")
        hosts[broker.name] = ""
        broker_tables(scenario, broker)


def _check_links(scenario: Scenario, tables: list[int]) -> None:
    """``tables`` are the numbers of the tables that the single links are from."""
    seen: set[frozenset[str]] = set()
    brokers = [each.name for each in scenario.brokers]
    for place, link in zip(tables, scenario.links, strict=True):
        where = f"links[{place}].between"
        for end in link.between:
            known_or_error(where, "broker", end, brokers)
        pair = frozenset(link.between)
        if len(pair) < 2:
            raise ScenarioError(f"{where}: a link has two different ends")
        if pair in seen:
            raise ScenarioError(f"{where}: {' and '.join(link.between)} already have a link")
        seen.add(pair)
    for place, flow in enumerate(scenario.cross_traffic):
        if set(flow.between) not in [set(each) for each in seen]:
            _no_link(f"cross_traffic[{place}].between", flow.between, scenario)


def known_or_error(where: str, what: str, name: str, names: Iterable[str]) -> None:
    """Raise ``ScenarioError`` unless a name is known."""
    known = list(names)
    if name not in known:
        raise ScenarioError(f"{where}: there is no {what} {name!r}; {suggestion(name, known)}")


def _check_clients(scenario: Scenario) -> None:
    names: set[str] = set()
    brokers = [each.name for each in scenario.brokers]
    for client in scenario.clients:
        where = f"clients {client.name!r}"
        _check_name(f"{where}.name", client.name)
        if client.name in names:
            raise ScenarioError(f"{where}.name: another client has this name; give each its own")
        names.add(client.name)
        if client.needs_broker:
            if not client.broker:
                raise ScenarioError(f"{where}.broker: missing; name the broker that it connects to")
            known_or_error(f"{where}.broker", "broker", client.broker, brokers)
        elif client.broker:
            raise ScenarioError(
                f"{where}.broker: a client of {client.service} needs no broker; remove it"
            )


def _check_stay(table: Client) -> None:
    """Every client of a table stops after it started, also after the latest random start."""
    if table.stop_s is None:
        return
    for number in (0, table.count - 1):
        latest_s = table.start_s + number * table.start_every_s + table.start_within_s
        if table.stop_s + number * table.stop_every_s <= latest_s:
            raise ScenarioError(
                f"clients {table.name!r}.stop_s: must be later than the start of every client"
            )


def _check_fault(scenario: Scenario, where: str, fault: Fault) -> None:
    kinds = fault.kinds
    if len(kinds) != 1:
        raise ScenarioError(f"{where}: set exactly one of {', '.join(FAULT_KINDS)}")
    kind = kinds[0]
    value = getattr(fault, kind)
    clients: dict[str, Client] = {each.name: each for each in scenario.clients}
    if kind in ("cut", "mend", "bandwidth"):
        pair = value.link if kind == "bandwidth" else value
        if set(pair) not in [set(link.between) for link in scenario.links]:
            _no_link(f"{where}.{kind}", pair, scenario)
    elif kind in ("drop_client", "leave", "come_back"):
        known_or_error(f"{where}.{kind}", "client", value, clients)
        if kind == "drop_client" and not clients[value].needs_broker:
            raise ScenarioError(f"{where}.{kind}: {value!r} has no connection that could break")
    elif kind in ("close", "reopen"):
        known_or_error(f"{where}.{kind}", "client", value, clients)
        if not clients[value].can_close:
            able = [name for name, each in clients.items() if each.can_close]
            raise ScenarioError(
                f"{where}.{kind}: {value!r} cannot be closed and opened again; "
                f"{suggestion(value, able)}"
            )
    elif isinstance(value, Pause):
        known_or_error(
            f"{where}.{kind}.broker", "broker", value.broker, [b.name for b in scenario.brokers]
        )
        if value.every_s is not None and value.every_s <= value.for_s:
            raise ScenarioError(
                f"{where}.{kind}.every_s: {value.every_s:g} s is not longer than the pause of "
                f"{value.for_s:g} s; set a longer time, or the broker never runs"
            )
    elif isinstance(value, Reconfiguration):
        brokers = [each.name for each in scenario.brokers]
        known_or_error(f"{where}.{kind}.broker", "broker", value.broker, brokers)
        for key in value.keys:
            if key not in service_keys():
                raise ScenarioError(
                    f"{where}.{kind}.{key}: unknown key; {suggestion(key, service_keys())}"
                )
        try:
            broker_tables(scenario, scenario.broker(value.broker), value.keys)
        except ScenarioError as error:
            raise ScenarioError(f"{where}.{kind}: {error}") from None
    else:
        brokers = [each.name for each in scenario.brokers]
        known_or_error(f"{where}.{kind}", "broker", value, brokers)


def _no_link(where: str, pair: tuple[str, str], scenario: Scenario) -> None:
    known = [" - ".join(link.between) for link in scenario.links]
    raise ScenarioError(
        f"{where}: there is no link {' - '.join(pair)}; there are: {', '.join(known) or 'none'}"
    )
