"""Whether the cause that the system named was the one that the case injected.

1. *Guaranteed*: every limit of a pubend that a full link or an alert led to names a link.  It is
   right if that link is on the pubend's tree and full in the optimum, within a tenth.  After an
   event the link of the phase before is right too, until the law had its time to settle.  A limit
   on a pubend none of whose links is full in the optimum is wrong, whatever it names.  What is said
   between a cut and the end of the recovery does not count: the cause is then the outage.  Nor does
   what is said of a pubend before the sources have chosen among equal paths, if it takes other
   links until then.
2. *Multicast*: ``penstock why`` names the dearest link of a sender's tree.  At every record of the
   windows, for every sender that gets less than nine tenths of its demand in the optimum, the
   dearest link must have the highest price of the optimum, within a tenth.  An instant at which no
   link has a price names nothing and does not count.
3. *Datagram* names the limiting receiver, and no link; *gossip* and *queues* name none.  They are
   left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.result import RunResult
from penstock.overlay.node import CHOOSE_AFTER
from penstock.papers.held_out.case import Case, CaseFlow, Phase
from penstock.papers.held_out.optimum import link_use, prices
from penstock.services.guaranteed.source.link_gate import HELD_NS
from penstock.services.guaranteed.telemetry import ThrottleDetail

DECREASES: Final = frozenset(
    ("full-link", "match", "share", "pdcc-decrease", "pdcc-repeated-decrease")
)
"""The rules by which a full link or an alert sets a limit; the others repeat an older cause."""

CHOSEN_S: Final = (CHOOSE_AFTER + HELD_NS) / SECOND
"""When the sources have chosen, and what is said is not about the time before."""

NEARLY: Final = 0.1
"""Links that differ by less are both the bottleneck."""


class Attribution(msgspec.Struct, frozen=True):
    """How many causes were named, and how many of them rightly."""

    named: int = 0
    right: int = 0
    wrong: Mapping[str, int] = {}
    """What was said instead, and how often."""


def attribution(case: Case, result: RunResult) -> Attribution:
    """The causes that a run named; none for services that name no link."""
    if case.kind == "guaranteed":
        return _throttles(case, result)
    if case.kind == "multicast":
        return _dearest(case, result)
    return Attribution()


class _Count:
    def __init__(self) -> None:
        self.named = self.right = 0
        self.wrong: dict[str, int] = {}

    def add(self, *, right: bool, said: str) -> None:
        self.named += 1
        self.right += right
        if not right:
            self.wrong[said] = self.wrong.get(said, 0) + 1

    def counted(self) -> Attribution:
        return Attribution(self.named, self.right, self.wrong)


def _throttles(case: Case, result: RunResult) -> Attribution:
    full = [_full_links(case, each) for each in case.phases]
    flows = {each.subject: each for each in case.flows}
    count = _Count()
    for record in result.telemetry.records:
        if record.metric != "throttle" or record.subject not in flows:
            continue
        detail = msgspec.json.decode(record.detail, type=ThrottleDetail)
        if detail.rule in DECREASES:
            right = _right_links(case, full, result.second(record.at), flows[record.subject])
            if right is not None:
                said = f"{record.subject}: {detail.link or 'no link'} on the way to {detail.broker}"
                count.add(right=detail.link in right, said=said)
    return count.counted()


def _right_links(case: Case, full: list[set[str]], at_s: float, flow: CaseFlow) -> set[str] | None:
    """The full links on a flow's tree; None at a time that does not count."""
    if flow.moves and at_s < CHOSEN_S:
        return None
    place = max(at for at, phase in enumerate(case.phases) if phase.begins_s <= at_s)
    phase = case.phases[place]
    links = set(full[place])
    if place and at_s < phase.from_s:
        if case.scenario.faults:
            return None
        links |= full[place - 1]
    return links & set(flow.uses)


def _full_links(case: Case, phase: Phase) -> set[str]:
    use = link_use([each.shared for each in case.flows], case.optimum(phase))
    return {link for link, each in use.items() if each >= (1 - NEARLY) * phase.capacities[link]}


def _dearest(case: Case, result: RunResult) -> Attribution:
    assert case.alpha is not None, "multicast cases have an α-fair optimum"
    records = [each for each in result.telemetry.records if each.metric == "link_price"]
    count = _Count()
    shared = [each.shared for each in case.flows]
    for phase in case.phases:
        rates = case.optimum(phase)
        fair = prices(phase.capacities, shared, rates, case.alpha)
        asked = _asked(result, records, phase)
        for flow in case.flows:
            if rates[flow.name] < (1 - NEARLY) * flow.demand:
                _count_dearest(count, flow, fair, asked)
    return count.counted()


def _asked(
    result: RunResult, records: list[TraceRecord], phase: Phase
) -> dict[int, dict[str, float]]:
    """The prices at each instant of a window."""
    low, high = result.instant(phase.from_s), result.instant(phase.to_s)
    asked: dict[int, dict[str, float]] = {}
    for record in records:
        if low <= record.at < high:
            asked.setdefault(record.at, {})[record.subject] = record.value
    return asked


def _count_dearest(
    count: _Count, flow: CaseFlow, fair: Mapping[str, float], asked: dict[int, dict[str, float]]
) -> None:
    dearest = max((fair.get(link, 0.0) for link in flow.uses), default=0.0)
    if dearest <= 0:
        return
    for at_once in asked.values():
        own = {link: at_once[link] for link in flow.uses if link in at_once}
        if own:
            named = max(own, key=lambda link: own[link])
            right = fair.get(named, 0.0) >= (1 - NEARLY) * dearest
            count.add(right=right, said=f"{flow.name}: {named}")
