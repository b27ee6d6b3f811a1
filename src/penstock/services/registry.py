"""The only list of services.

A service is a folder with a ``description.py`` that defines ``DESCRIPTION``, and one line here.
The order is the order in which a broker numbers its services (and so its tokens), asks them, and
shows them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from penstock.services.description import ServiceDescription

SERVICES: list[str] = [
    "penstock.services.guaranteed",
    "penstock.services.queues",
    "penstock.services.multicast",
    "penstock.services.datagram",
    "penstock.services.gossip",
]


@cache
def descriptions() -> tuple[ServiceDescription, ...]:
    """Every service, in the order of the list."""
    modules = [import_module(f"{package}.description") for package in SERVICES]
    return tuple(module.DESCRIPTION for module in modules)


@cache
def broker_services() -> tuple[ServiceDescription, ...]:
    """The services that brokers take part in."""
    return tuple(each for each in descriptions() if each.runs_at_brokers)


def description(name: str) -> ServiceDescription:
    """One service by its name."""
    return next(each for each in descriptions() if each.name == name)
