"""Tables that stand for several: ``count``, and ``{i}`` in their texts.

1. A table with ``count = 3`` stands for three that differ in the texts in which ``{i}`` is replaced
   by 0, 1 and 2.  A name without ``{i}`` gets the number appended.
2. ``{i+1}`` counts from 1, ``{i-1}`` and ``{i+2}`` likewise; ``{i+1%5}`` starts again at 0 after 4.
3. Everything else in the laboratory sees single tables only.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from penstock.core.randomness import random_stream
from penstock.lab.scenario.model import Broker, Client, Scenario

NUMBER: Final = re.compile(r"\{i([+-]\d+)?(?:%(\d+))?\}")

Numbered = TypeVar("Numbered", bound=msgspec.Struct)


def replaced(value: Any, number: int) -> Any:
    """A value in which every ``{i}`` is this number, in texts, lists and tables."""
    if isinstance(value, str):
        return NUMBER.sub(lambda found: _number(found, number), value) if "{" in value else value
    if isinstance(value, dict):
        return {replaced(key, number): replaced(each, number) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(replaced(each, number) for each in value)
    return value


def _number(found: re.Match[str], number: int) -> str:
    offset, modulus = found.groups()
    shifted = number + int(offset or 0)
    return str(shifted % int(modulus) if modulus else shifted)


def expanded(scenario: Scenario, seed: int = 0) -> Scenario:
    """The scenario with single tables only; ``seed`` decides random starts of clients."""
    return msgspec.structs.replace(
        scenario,
        brokers=tuple(one for each in scenario.brokers for one in _named(each)),
        links=tuple(one for each in scenario.links for one in _singles(each)),
        clients=tuple(one for each in scenario.clients for one in _clients(each, seed)),
    )


def _singles(table: Numbered) -> list[Numbered]:
    """The tables that one stands for."""
    count: int = table.count  # type: ignore[attr-defined]
    fields = {name: getattr(table, name) for name in table.__struct_fields__}
    if count == 1 and not NUMBER.search(repr(fields)):
        return [table]
    return [type(table)(**{**replaced(fields, number), "count": 1}) for number in range(count)]


def _named(table: Broker) -> list[Broker]:
    if table.count > 1 and not NUMBER.search(table.name):
        table = msgspec.structs.replace(table, name=f"{table.name}{{i}}")
    return _singles(table)


def _clients(table: Client, seed: int) -> list[Client]:
    group = table.group_of or NUMBER.sub("", table.name)
    if table.count > 1 and not NUMBER.search(table.name):
        table = msgspec.structs.replace(table, name=f"{table.name}{{i}}")
    found = []
    for number, one in enumerate(_singles(table)):
        start_s = one.start_s + number * one.start_every_s
        if one.start_within_s:
            start_s += random_stream(seed, one.name, "start").random() * one.start_within_s
        stop_s = None if one.stop_s is None else one.stop_s + number * one.stop_every_s
        found.append(
            msgspec.structs.replace(
                one,
                start_s=start_s,
                start_every_s=0.0,
                start_within_s=0.0,
                stop_s=stop_s,
                stop_every_s=0.0,
                group_of=group,
            )
        )
    return found
