"""Recognises scenario files of former forms, and converts them to the present one.

There were six: scenarios of brokers with guaranteed publishers and subscribers, and one or two
forms for each other service, which a file named with ``service = "NAME"``.  Comments are not kept,
because a TOML reader does not see them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.lab.scenario.convert.brokers import convert_brokers
from penstock.lab.scenario.convert.datagram_large import convert_large
from penstock.lab.scenario.convert.datagram_pairs import convert_pairs
from penstock.lab.scenario.convert.gossip import convert_gossip
from penstock.lab.scenario.convert.multicast import convert_multicast
from penstock.lab.scenario.convert.parts import NotConvertible
from penstock.lab.scenario.convert.queues import convert_queues

Converter = Callable[[Mapping[str, Any]], dict[str, Any]]

OF_SERVICES: Final[dict[str, Converter]] = {
    "queues": convert_queues,
    "multicast": convert_multicast,
    "datagram": lambda raw: convert_large(raw) if "links" in raw else convert_pairs(raw),
    "gossip": convert_gossip,
}
"""The converter of each service that had a form of its own."""


def is_old_form(raw: Mapping[str, Any]) -> str:
    """Why the tables of a file are of a former form, after the key; empty if they are not."""
    if isinstance(raw.get("service"), str):
        return "service: belongs to [[clients]] now"
    if isinstance(raw.get("brokers"), Mapping):
        return "brokers: [brokers.NAME] is [[brokers]] with a name now"
    for key in ("publishers", "subscribers"):
        if key in raw:
            return f"{key}: [[{key}]] are [[clients]] now"
    faults = raw.get("faults")
    for place, fault in enumerate(faults if isinstance(faults, list) else ()):
        if isinstance(fault, Mapping) and "add_pubend" in fault:
            return f"faults[{place}].add_pubend: is reconfigure now"
    return ""


def converted(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    if not is_old_form(raw):
        raise NotConvertible("this is no file of a former form; penstock scenario check checks it")
    service = raw.get("service")
    if service is not None and service not in OF_SERVICES:
        known = ", ".join(OF_SERVICES)
        raise NotConvertible(f"service: {service!r} had no scenarios; there are {known}")
    convert = convert_brokers if service is None else OF_SERVICES[service]
    try:
        return convert(raw)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        # The converters check keys and leave most kinds of values to the reader of the result.
        raise NotConvertible(f"a value is not of the kind that the form had: {error}") from error
