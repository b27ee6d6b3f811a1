"""The services' keys of a scenario's broker, which are those of BROKER.toml.

Unlike a broker of its own, a scenario's broker hosts nothing that the file does not name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.core.clock import seconds
from penstock.core.configuration import field_types, read_table, with_names
from penstock.core.service import ServiceTable
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Broker, Scenario
from penstock.lab.service import lab_services, overlaid
from penstock.overlay.node import NodeConfig
from penstock.services.registry import broker_services


def service_keys() -> dict[str, Any]:
    """The keys of all services in BROKER.toml, with their types."""
    return {
        key: kind
        for service in broker_services()
        if service.table is not None
        for key, kind in field_types(service.table).items()
    }


def broker_keys(scenario: Scenario, broker: Broker) -> dict[str, Any]:
    """The keys of one broker: its own go before those for all, and these before implied ones."""
    known = service_keys()
    implied: dict[str, Any] = {}
    for service in lab_services().values():
        implied = overlaid(implied, service.implied_keys(scenario))
    common = {key: value for key, value in scenario.parameters.items() if key in known}
    return overlaid(overlaid(implied, common), broker.keys)


def broker_tables(
    scenario: Scenario, broker: Broker, changed: Mapping[str, Any] | None = None
) -> tuple[ServiceTable, ...]:
    """One table struct for each service; raises ``ScenarioError``.

    ``changed`` are keys that differ from the file.
    """
    keys = overlaid(broker_keys(scenario, broker), changed or {})
    tables = []
    for service in broker_services():
        if service.table is None:
            continue
        own = {key: keys[key] for key in field_types(service.table) if key in keys}
        try:
            raw = {**service.table.hosting_nothing(), **own}
            table = read_table(service.table, with_names(service.table, raw))
            table.check(broker.name)
        except ValueError as error:
            raise ScenarioError(f"{_place(scenario, broker, str(error))}.{error}") from None
        tables.append(table)
    return tuple(tables)


def _place(scenario: Scenario, broker: Broker, problem: str) -> str:
    """The table in which the key of an error stands."""
    path = problem.partition(":")[0].split(".")
    of_all = _has(scenario.parameters, path) and not _has(broker.keys, path)
    return "parameters" if of_all else f"brokers {broker.name!r}"


def _has(table: Any, path: list[str]) -> bool:
    for key in path:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return True


def node_config_of(
    scenario: Scenario, broker: Broker, changed: Mapping[str, Any] | None = None
) -> NodeConfig:
    """The configuration of a broker's machine."""
    return NodeConfig(
        name=broker.name,
        neighbours=neighbours_of(scenario, broker.name),
        settings=tuple(
            each.settings_for(broker.name) for each in broker_tables(scenario, broker, changed)
        ),
        trace_interval_ns=seconds(scenario.trace_interval_s),
    )


def neighbours_of(scenario: Scenario, broker: str) -> dict[str, int]:
    """The brokers that one has links to, with the cost of the link."""
    found = {}
    for link in scenario.links:
        if broker in link.between:
            first, second = link.between
            found[second if first == broker else first] = link.cost
    return found
