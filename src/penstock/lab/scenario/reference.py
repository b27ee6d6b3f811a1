"""The tables of keys and metrics in docs/reference/scenario.md, from the structs that read a file.

A place in the document that begins with ``<!-- keys: links -->`` or ``<!-- metrics: queues -->``
and ends with ``<!-- end -->`` holds such a table.  ``make reference`` writes them anew; a test
compares them, so that the document cannot say anything else than the code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec

from penstock.lab.scenario.curve import CurvePoint
from penstock.lab.scenario.key_meanings import key_meanings
from penstock.lab.scenario.model import (
    Access,
    Broker,
    Client,
    CrossTraffic,
    Expectation,
    Link,
    LinkChange,
    Measurement,
    PeerNetwork,
    Scenario,
)
from penstock.lab.scenario.write import SET_BY_NUMBERING, default_of
from penstock.lab.service import lab_services

TABLES: Final[Mapping[str, type[msgspec.Struct]]] = {
    "scenario": Scenario,
    "brokers": Broker,
    "links": Link,
    "links.changes": LinkChange,
    "peer_network": PeerNetwork,
    "clients": Client,
    "access": Access,
    "cross_traffic": CrossTraffic,
    "measurements": Measurement,
    "expect": Expectation,
}
ELSEWHERE: Final = ("keys", *SET_BY_NUMBERING)
"""Fields that are no keys of a file."""

WITHOUT: Final[Mapping[str, tuple[str, ...]]] = {
    "scenario": (
        *("brokers", "links", "peer_network", "clients"),
        *("cross_traffic", "faults", "expect"),
    ),
    "expect": Measurement.__struct_fields__,
}
"""Keys that a part of the document has of its own."""

PLACE: Final = re.compile(r"(<!-- (keys|metrics): (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """The document with the tables of its places."""
    return PLACE.sub(lambda found: f"{found[1]}{_table(found[2], found[3])}{found[4]}", text)


def places() -> set[str]:
    """Every place that the document must have."""
    services = lab_services().values()
    return {
        *(f"keys: {name}" for name in TABLES),
        *(f"keys: {service.name}.{role}" for service in services for role in service.roles),
        *(f"metrics: {service.name}" for service in services),
    }


def _table(what: str, name: str) -> str:
    if what == "metrics":
        return metric_table(name)
    if name in TABLES:
        return key_table(TABLES[name], WITHOUT.get(name, ()))
    service, _, role = name.partition(".")
    return key_table(lab_services()[service].roles[role], Client.__struct_fields__)


def key_table(kind: type[msgspec.Struct], without: Iterable[str] = ()) -> str:
    """The keys of a table with their defaults and meanings."""
    left_out = {*ELSEWHERE, *without}
    rows = [
        f"| `{field.encode_name}` | {_default(field)} | {_meaning(kind, field)} |"
        for field in msgspec.structs.fields(kind)
        if field.name not in left_out
    ]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows, ""])


def metric_table(service: str) -> str:
    """What is measured from the histories of a service."""
    rows = [
        f"| `{name}` | {metric.kind} | {metric.meaning} |"
        for name, metric in lab_services()[service].metrics.items()
    ]
    return "\n".join(["| metric | kind | meaning |", "| --- | --- | --- |", *rows, ""])


def _default(field: msgspec.structs.FieldInfo) -> str:
    default = default_of(field)
    if default is msgspec.NODEFAULT:
        return "required"
    if default is None or default in ("", (), {}):
        return ""
    if isinstance(default, msgspec.Struct):
        default = {key: getattr(default, key) for key in default.__struct_fields__}
        return "`{ " + ", ".join(f"{key} = {value}" for key, value in default.items()) + " }`"
    return f"`{str(default).lower() if isinstance(default, bool) else _number(default)}`"


def _number(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:_}" if isinstance(value, int) and value >= 10_000 else f"{value:g}"


def _meaning(kind: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> str:
    meaning = key_meanings(kind).get(field.name, "").rstrip(".")
    if meaning[1:2].islower() or meaning.startswith("A "):
        meaning = f"{meaning[:1].lower()}{meaning[1:]}"
    words = " or ".join(f'`"{word}"`' for word in _words_in(field.type))
    if words and field.name != "aggregate":
        meaning = f"{words}: {meaning}" if meaning else words
    if CurvePoint in _parts_of(field.type):
        meaning += f"{'; ' if meaning else ''}may follow a curve"
    return meaning.replace("|", "\\|")


def _words_in(annotation: Any) -> list[str]:
    """The words that a key may have."""
    return [
        word
        for part in _parts_of(annotation)
        if get_origin(part) is Literal
        for word in get_args(part)
    ]


def _parts_of(annotation: Any) -> Iterable[Any]:
    yield annotation
    if get_origin(annotation) in (Union, UnionType, tuple):
        for each in get_args(annotation):
            yield from _parts_of(each)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
