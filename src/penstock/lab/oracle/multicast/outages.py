"""When the overlay of a scenario may be divided for so long that members count as departed.

The members at a broker that cannot be reached for ``departure_ns`` have left their groups as far as
the other brokers are concerned, although they notice nothing (docs/reference/multicast.md).  No
application sees this, so the times are taken from the faults that the scenario plans: the judge
demands nothing for messages that were under way then.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, NamedTuple

from penstock.core.clock import in_seconds
from penstock.lab.scenario.broker_tables import broker_tables
from penstock.lab.scenario.model import Scenario
from penstock.services.multicast.settings import MulticastTable

EARLY_S: Final = 1.0
"""Brokers may measure the time without a path a little differently than the scenario."""

LATE_S: Final = 2.0
"""Time for links to come up, and for brokers to hear of each other again."""


class Outage(NamedTuple):
    """An interval in seconds of the scenario."""

    from_s: float
    to_s: float


def outages_of(scenario: Scenario) -> tuple[Outage, ...]:
    """The times in which members may have counted as departed."""
    interruptions = _merged(_interruptions(scenario))
    if not interruptions:
        return ()
    departure_s = min(
        (
            in_seconds(table.multicast.departure_ns)
            for broker in scenario.brokers
            for table in broker_tables(scenario, broker)
            if isinstance(table, MulticastTable)
        ),
        default=inf,
    )
    return tuple(
        Outage(each.from_s + departure_s - EARLY_S, each.to_s + LATE_S)
        for each in interruptions
        if each.to_s - each.from_s >= departure_s - EARLY_S
    )


def _interruptions(scenario: Scenario) -> Iterable[Outage]:
    """When a link is cut or a broker is down."""
    for broker in scenario.brokers:
        if broker.start_s:
            yield Outage(0.0, broker.start_s)
    began_s: dict[object, float] = {}
    for fault in sorted(scenario.faults, key=lambda each: each.at_s):
        if fault.cut is not None:
            began_s.setdefault(frozenset(fault.cut), fault.at_s)
        elif fault.crash is not None:
            began_s.setdefault(fault.crash, fault.at_s)
        over = frozenset(fault.mend) if fault.mend is not None else fault.restart
        if over in began_s:
            yield Outage(began_s.pop(over), fault.at_s)
    for from_s in began_s.values():
        yield Outage(from_s, inf)


def _merged(interruptions: Iterable[Outage]) -> list[Outage]:
    """Interruptions that follow each other closely may look like one to some broker."""
    merged: list[Outage] = []
    for each in sorted(interruptions):
        if merged and each.from_s <= merged[-1].to_s + LATE_S:
            merged[-1] = Outage(merged[-1].from_s, max(merged[-1].to_s, each.to_s))
        else:
            merged.append(each)
    return merged
