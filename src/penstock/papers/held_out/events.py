"""What happens during a case: nothing, a step of a bottleneck's capacity, or an outage.

1. Every law has ``SETTLE_S`` to settle after the start and after an event.  A window follows.
2. A step multiplies or divides the capacity of a bottleneck by a factor between 1.5 and 3.
3. An outage cuts a link of a tree and mends it.  After it the law has three times its length more:
   a recovering edge must get twice the publication rate, so it needs the length of the outage once
   for what was missed, and as much again for what was published meanwhile, with a margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

import msgspec

from penstock.lab.scenario.model import Fault
from penstock.papers.held_out.case import Phase
from penstock.papers.held_out.network import log_uniform

SETTLE_S: Final = 15.0
WINDOW_S: Final = 20.0
"""Twenty samples of a second, for the variation of a rate."""

STEP: Final = (1.5, 3.0)
OUTAGE_S: Final = (2.0, 8.0)
RECOVERY_FACTOR: Final = 3.0


class Plan(msgspec.Struct, frozen=True):
    """The phases of a case and what happens between them."""

    phases: tuple[Phase, ...]
    changes: Mapping[str, tuple[float, float]] = {}
    faults: tuple[Fault, ...] = ()

    @property
    def duration_s(self) -> float:
        """The end of the last phase."""
        return self.phases[-1].to_s


def steady(capacities: Mapping[str, float]) -> Plan:
    """Nothing happens."""
    return Plan((Phase(0.0, SETTLE_S, SETTLE_S + WINDOW_S, capacities),))


def step(random: Random, capacities: Mapping[str, float]) -> Plan:
    """The capacity of a bottleneck changes."""
    first = steady(capacities).phases[0]
    link = random.choice(sorted(capacities))
    factor = log_uniform(random, *STEP) ** random.choice((-1, 1))
    both_ways = {link, "->".join(reversed(link.split("->")))} & set(capacities)
    later = {
        name: float(round(each * factor)) if name in both_ways else each
        for name, each in capacities.items()
    }
    at_s = first.to_s
    event = f"{link} changes from {capacities[link]:.0f} to {later[link]:.0f} bytes/s"
    second = Phase(at_s, at_s + SETTLE_S, at_s + SETTLE_S + WINDOW_S, later, event)
    return Plan((first, second), {name: (at_s, later[name]) for name in sorted(both_ways)})


def outage(random: Random, capacities: Mapping[str, float], used: list[str]) -> Plan:
    """A link of some tree is cut for some seconds."""
    first = steady(capacities).phases[0]
    near, _, far = random.choice(used).partition("->")
    lasts_s = round(random.uniform(*OUTAGE_S), 1)
    cut_s = first.to_s
    mended_s = cut_s + lasts_s
    from_s = mended_s + SETTLE_S + RECOVERY_FACTOR * lasts_s
    event = f"{near}-{far} is down for {lasts_s:g} s"
    second = Phase(cut_s, from_s, from_s + WINDOW_S, capacities, event)
    faults = (Fault(at_s=cut_s, cut=(near, far)), Fault(at_s=mended_s, mend=(near, far)))
    return Plan((first, second), {}, faults)
