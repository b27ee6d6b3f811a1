"""The JSON schema of scenario files, with which editors complete keys and mark mistakes.

1. It is made from the structs that read a file, so it cannot say anything else than they do.
2. A broker has its own keys and those of the services in BROKER.toml; a client is one of the roles
   of the services.  Both come from the registry.
3. What structs cannot say (a broker that does not exist, a metric that nobody measures) a schema
   cannot say either; ``penstock scenario check`` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from penstock.core.configuration import field_types
from penstock.lab.scenario.broker_tables import service_keys
from penstock.lab.scenario.key_meanings import key_meanings
from penstock.lab.scenario.model import Broker, Expectation, Fault, Reconfiguration, Scenario
from penstock.lab.scenario.write import SET_BY_NUMBERING
from penstock.lab.service import LabService, lab_services

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REFERENCE: Final = "#/$defs/{name}"

Schema = dict[str, Any]


def schema_text() -> str:
    """The schema as the text of a file."""
    return json.dumps(schema(), indent=2) + "\n"


def schema() -> Schema:
    """The schema of a scenario file."""
    services = list(lab_services().values())
    hosted = service_keys()
    parameters = {each.name: each.client_parameters for each in services if each.client_parameters}
    roles = [table for each in services for table in each.roles.values()]
    structs = _structs_in(Scenario, Reconfiguration, *roles, *hosted.values(), *parameters.values())
    given, parts = msgspec.json.schema_components(
        [*structs, *hosted.values(), *parameters.values()], ref_template=REFERENCE
    )
    given, parts = _without_null(given), _without_null(parts)
    names = {kind: _name_in(each) for kind, each in zip(structs, given, strict=False)}
    for kind, name in names.items():
        _explain(parts[name], kind)

    of_services = dict(zip(hosted, given[len(structs) :], strict=False))
    of_clients = dict(zip(parameters, given[len(structs) + len(hosted) :], strict=True))
    for name in _reached(parts, [*of_services.values(), *of_clients.values()]):
        # A table may have some of its keys, and its name, from elsewhere.
        parts[name].pop("required", None)
    _host(parts[names[Broker]], of_services)
    _host(parts[names[Reconfiguration]], of_services)
    # A fault has a time and one kind; an expectation has a bound.
    parts[names[Fault]] |= {"minProperties": 2, "maxProperties": 2}
    parts[names[Expectation]]["anyOf"] = [{"required": ["at_most"]}, {"required": ["at_least"]}]
    clients = {
        f"{service.name}-{role}": _client(parts.pop(names[table]), service, role)
        for service in services
        for role, table in service.roles.items()
    }
    whole = _scenario(parts.pop(names[Scenario]), {**of_services, **of_clients}, list(clients))
    return {"$schema": DIALECT, **whole, "$defs": {**parts, **clients}}


def _scenario(table: Schema, parameters: dict[str, Schema], clients: list[str]) -> Schema:
    """The tables at the top of a file."""
    table["properties"] |= {
        "parameters": {
            "description": key_meanings(Scenario)["parameters"],
            "type": "object",
            "properties": parameters,
            "additionalProperties": False,
        },
        "clients": {
            "type": "array",
            "items": {"oneOf": [{"$ref": REFERENCE.format(name=name)} for name in clients]},
        },
    }
    return {**table, "title": "Penstock scenario"}


def _name_in(reference: Schema) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def _without_null(value: Any) -> Any:
    """TOML has no null: a key that may be None is left out."""
    if isinstance(value, list):
        return [_without_null(each) for each in value if each != {"type": "null"}]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_null(each) for key, each in value.items() if each is not None}
    alternatives = kept.get("anyOf")
    if isinstance(alternatives, list) and len(alternatives) == 1:
        del kept["anyOf"]
        kept |= alternatives[0]
    return kept


def _explain(table: Schema, kind: type[msgspec.Struct]) -> None:
    """Add the meaning of every key."""
    properties = table.get("properties", {})
    for key, meaning in key_meanings(kind).items():
        if key in properties:
            properties[key] = {"description": meaning, **properties[key]}


def _structs_in(*annotations: Any) -> list[type[msgspec.Struct]]:
    """Every struct that a value of these types may hold."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting = list(reversed(annotations))
    while waiting:
        each = waiting.pop()
        if not (isinstance(each, type) and issubclass(each, msgspec.Struct)):
            waiting += getattr(each, "__args__", ())
        elif each not in found:
            found[each] = None
            waiting += field_types(each).values()
    return list(found)


def _reached(parts: dict[str, Schema], from_here: list[Any]) -> Iterator[str]:
    """The names of the parts that these schemas refer to, at any depth."""
    seen: set[str] = set()
    waiting: list[Any] = list(from_here)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and (name := _name_in(value)) not in seen:
                seen.add(name)
                waiting.append(parts[name])
                yield name
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _host(table: Schema, of_services: dict[str, Schema]) -> None:
    """Put the services' keys beside the others, where a file has them."""
    del table["properties"]["keys"]
    table["properties"] |= of_services
    table["required"] = [key for key in table["required"] if key != "keys"]


def _client(table: Schema, service: LabService, role: str) -> Schema:
    """The table of a role, which says which client it is."""
    properties = table["properties"]
    for key in SET_BY_NUMBERING:
        del properties[key]
    properties["service"] = {"const": service.name}
    properties["role"] = {"const": role}
    if len(service.roles) > 1:
        table["required"].insert(0, "role")
    if service.roles[role].needs_broker:
        table["required"].append("broker")
    else:
        del properties["broker"]
    return {**table, "title": f"{service.name}: {role}"}
