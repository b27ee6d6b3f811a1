"""Converts the former form of a scenario with brokers, publishers and subscribers.

Brokers were tables by name, publishers and subscribers had lists of their own, and a fault
``add_pubend`` restarted a broker with one more pubend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from penstock.lab.scenario.convert.parts import (
    NotConvertible,
    chosen,
    head,
    listed,
    only,
    tables_of,
)
from penstock.lab.scenario.numbering import NUMBER

NUMBERED: Final = ("broker", "pubend", "selector")
"""The keys in which ``{i}`` had a meaning; now it has one in every text."""

KEPT: Final = ("drain_s", "trace_interval_s", "parameters")
CONVERTED: Final = (
    *("name", "description", "duration_s", "brokers", "links"),
    *("publishers", "subscribers", "faults", "expect"),
)


def convert_brokers(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    only(raw, (*KEPT, *CONVERTED))
    brokers = tables_of(raw, "brokers")
    new = head(raw) | chosen(raw, *KEPT)
    new["brokers"] = [{"name": name, **broker} for name, broker in brokers.items()]
    if "links" in raw:
        new["links"] = listed(raw, "links")
    # Clients start in the order of the file, and subscribers used to start first.
    new["clients"] = [
        *_clients(raw, "subscribers", "subscriber"),
        *_clients(raw, "publishers", "publisher"),
    ]
    if "faults" in raw:
        new["faults"] = list(_faults(listed(raw, "faults"), brokers))
    if "expect" in raw:
        new["expect"] = listed(raw, "expect")
    return new


def _clients(raw: Mapping[str, Any], key: str, role: str) -> Iterable[dict[str, Any]]:
    for place, client in enumerate(listed(raw, key)):
        for name, value in client.items():
            if name not in NUMBERED and NUMBER.search(repr(value)):
                raise NotConvertible(
                    f"{key}[{place}].{name}: {{i}} had no meaning here, and now it is replaced by "
                    "a number; write it in another way"
                )
        yield {"service": "guaranteed", "role": role, **client}


def _faults(
    faults: Iterable[Mapping[str, Any]], brokers: Mapping[str, Mapping[str, Any]]
) -> Iterable[dict[str, Any]]:
    hosted = {name: broker.get("pubends", 0) for name, broker in brokers.items()}
    for place, fault in enumerate(faults):
        broker = fault.get("add_pubend")
        if broker is None:
            yield dict(fault)
            continue
        if broker not in hosted:
            raise NotConvertible(f"faults[{place}].add_pubend: there is no broker {broker!r}")
        hosted[broker] = _one_more(broker, hosted[broker])
        others = {key: value for key, value in fault.items() if key != "add_pubend"}
        yield {**others, "reconfigure": {"broker": broker, "pubends": hosted[broker]}}


def _one_more(broker: str, pubends: int | list[str]) -> int | list[str]:
    if isinstance(pubends, int):
        return pubends + 1
    return [*pubends, f"{broker}.{len(pubends) + 1}"]
