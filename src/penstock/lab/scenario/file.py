"""Reads and checks a scenario file; every error names the file, the key and what is allowed.

1. Keys, types and ranges are checked against the structs in model.py (core/configuration.py).
2. Every reference to a broker, link, pubend or client must name one that exists.
3. The parameters of a service are checked against the struct of that service.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.configuration import (
    ConfigurationError,
    parse_toml,
    raised_as,
    read_table,
    suggestion,
)
from penstock.lab.scenario.model import (
    Fault,
    Publishers,
    Scenario,
    Subscribers,
    each_publisher,
    each_subscriber,
    source_spec,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.sim.attribute_values import InvalidAttributeSpec
from penstock.sim.message_source import MessageSource, UnreachableSize

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names are used in file names, in telemetry and in link names such as "ib->sb"."""


class ScenarioError(ConfigurationError):
    """A scenario cannot be used; the message names the key and what to do."""


def load_scenario(path: Path) -> Scenario:
    """Read and check a file; raises ``ScenarioError``."""
    with raised_as(ScenarioError, path):
        return parse_scenario(parse_toml(path.read_text(encoding="utf-8")))


def parse_scenario(raw: Mapping[str, Any]) -> Scenario:
    """Check what a file says; raises ``ScenarioError``."""
    if "service" in raw:
        raise ScenarioError(
            f"service: a scenario of {raw['service']!r} cannot be run by itself; penstock papers "
            "--service NAME runs the experiments of a service, and a scenario of brokers names none"
        )
    with raised_as(ScenarioError):
        scenario = read_table(Scenario, raw)
    check_scenario(scenario)
    return scenario


def guaranteed_parameters(scenario: Scenario, broker: str) -> GuaranteedParameters:
    """The parameters of one broker: its own override those for all brokers."""
    own = scenario.brokers[broker].guaranteed
    merged = {**scenario.parameters.guaranteed, **own}
    where = f"brokers.{broker}.guaranteed" if own else "parameters.guaranteed"
    with raised_as(ScenarioError):
        return read_table(GuaranteedParameters, merged, where)


def check_scenario(scenario: Scenario) -> None:
    """Check what the types do not express; raises ``ScenarioError``."""
    if not scenario.brokers:
        raise ScenarioError("brokers: a scenario needs at least one, such as [brokers.b1]")
    for name in scenario.brokers:
        _check_name(f"brokers.{name}", name)
        guaranteed_parameters(scenario, name)
    _check_pubends(scenario)
    _check_links(scenario)
    _check_clients(scenario)
    for place, fault in enumerate(scenario.faults):
        _check_fault(scenario, f"faults[{place}]", fault)
    for place, expectation in enumerate(scenario.expect):
        if expectation.at_most is None and expectation.at_least is None:
            raise ScenarioError(f"expect[{place}]: set at_most or at_least, or both")
        if expectation.to_s is not None and expectation.to_s <= expectation.from_s:
            raise ScenarioError(f"expect[{place}].to_s: must be later than from_s")


def _check_name(where: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ScenarioError(
            f"{where}: {name!r} is not a name; use up to 64 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit"
        )


def _check_pubends(scenario: Scenario) -> None:
    hosts: dict[str, str] = {}
    for broker in scenario.brokers:
        for pubend in scenario.all_pubends_of(broker):
            _check_name(f"brokers.{broker}.pubends", pubend)
            if pubend in hosts:
                raise ScenarioError(
                    f"brokers.{broker}.pubends: {pubend!r} is already hosted by {hosts[pubend]!r}; "
                    "each pubend has one host"
                )
            hosts[pubend] = broker


def _check_links(scenario: Scenario) -> None:
    seen: set[frozenset[str]] = set()
    for place, link in enumerate(scenario.links):
        where = f"links[{place}].between"
        for end in link.between:
            _known(where, "broker", end, scenario.brokers)
        pair = frozenset(link.between)
        if len(pair) < 2:
            raise ScenarioError(f"{where}: a link has two different ends")
        if pair in seen:
            raise ScenarioError(f"{where}: {' and '.join(link.between)} already have a link")
        seen.add(pair)


def _known(where: str, what: str, name: str, names: Iterable[str]) -> None:
    known = list(names)
    if name not in known:
        raise ScenarioError(f"{where}: there is no {what} {name!r}; {suggestion(name, known)}")


def _check_clients(scenario: Scenario) -> None:
    names: set[str] = set()
    for publisher in each_publisher(scenario):
        where = f"publishers {publisher.name!r}"
        _check_client(scenario, where, publisher, names)
        _check_publisher(scenario, where, publisher)
    for subscriber in each_subscriber(scenario):
        where = f"subscribers {subscriber.name!r}"
        _check_client(scenario, where, subscriber, names)
        try:
            parse(subscriber.selector)
        except SelectorError as error:
            raise ScenarioError(f"{where}.selector: {error}") from None


def _check_client(
    scenario: Scenario, where: str, client: Publishers | Subscribers, names: set[str]
) -> None:
    _check_name(f"{where}.name", client.name)
    if client.name in names:
        raise ScenarioError(f"{where}.name: another client has this name; give each its own")
    names.add(client.name)
    _known(f"{where}.broker", "broker", client.broker, scenario.brokers)
    if client.stop_s is not None and client.stop_s <= client.start_s:
        raise ScenarioError(f"{where}.stop_s: must be later than start_s")


def _check_publisher(scenario: Scenario, where: str, publisher: Publishers) -> None:
    hosted = scenario.all_pubends_of(publisher.broker)
    if not hosted:
        raise ScenarioError(
            f"{where}.broker: {publisher.broker!r} hosts no pubend; set pubends there"
        )
    if publisher.pubend:
        _known(f"{where}.pubend", f"pubend at {publisher.broker!r}", publisher.pubend, hosted)
    elif len(hosted) > 1 and publisher.identity == "tick":
        raise ScenarioError(f'{where}.pubend: missing; identity = "tick" needs it')
    if not publisher.rate_msgs_per_s and not publisher.max_in_flight:
        raise ScenarioError(
            f"{where}: set rate_msgs_per_s, or max_in_flight to publish as fast as possible"
        )
    try:
        MessageSource(source_spec(scenario, publisher), 0)
    except (UnreachableSize, InvalidAttributeSpec) as error:
        raise ScenarioError(f"{where}: {error}") from None


def _check_fault(scenario: Scenario, where: str, fault: Fault) -> None:
    kinds = fault.kinds
    if len(kinds) != 1:
        known = [name for name in fault.__struct_fields__ if name != "at_s"]
        raise ScenarioError(f"{where}: set exactly one of {', '.join(known)}")
    kind = kinds[0]
    value = getattr(fault, kind)
    if kind in ("cut", "mend", "bandwidth"):
        pair = value.link if kind == "bandwidth" else value
        links = [set(link.between) for link in scenario.links]
        if set(pair) not in links:
            known = [" - ".join(link.between) for link in scenario.links]
            raise ScenarioError(
                f"{where}.{kind}: there is no link {' - '.join(pair)}; there are: "
                f"{', '.join(known) or 'none'}"
            )
    elif kind in ("drop_client", "leave", "come_back"):
        clients = [each.name for each in each_publisher(scenario)]
        clients += [each.name for each in each_subscriber(scenario)]
        _known(f"{where}.{kind}", "client", value, clients)
    elif kind in ("close", "reopen"):
        durable = [each.name for each in each_subscriber(scenario) if each.durable]
        _known(f"{where}.{kind}", "durable subscriber", value, durable)
    else:
        _known(f"{where}.{kind}", "broker", value, scenario.brokers)
