"""Which named causes are right: by the links that are full in the optimum of the phase."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.scenario.model import Fault, Scenario
from penstock.papers.held_out.attribution import CHOSEN_S, attribution
from penstock.papers.held_out.case import Case, CaseFlow, Phase

NARROW, WIDE = "a->b", "a->c"
FLOWS = (
    CaseFlow("x", "guaranteed", {NARROW: 1.0, WIDE: 1.0}, 90.0, 1.0, subject="a.1"),
    CaseFlow("y", "guaranteed", {WIDE: 1.0}, 10.0, 1.0, subject="a.2"),
)
BEFORE = Phase(0.0, 10.0, 20.0, {NARROW: 50.0, WIDE: 500.0})
AFTER = Phase(20.0, 30.0, 40.0, {NARROW: 500.0, WIDE: 50.0})


def case_of(*faults: Fault, kind: str = "guaranteed", alpha: float | None = None) -> Case:
    scenario = Scenario(name="case", duration_s=40.0, faults=faults)
    return Case(1, kind, scenario, FLOWS, (BEFORE, AFTER), alpha)


def result_of(records: list[TraceRecord]) -> Any:
    return SimpleNamespace(
        telemetry=SimpleNamespace(records=records),
        second=lambda at: at / SECOND,
        instant=lambda at_s: int(at_s * SECOND),
    )


def throttle(at_s: float, pubend: str, link: str, rule: str = "match") -> TraceRecord:
    detail = {
        "rule": rule,
        "broker": "b",
        "link": link,
        "link_bytes": 1,
        "rate": 0.5,
        "recovering": False,
    }
    text = msgspec.json.encode(detail).decode()
    return TraceRecord(int(at_s * SECOND), "a", pubend, "throttle", 1.0, text)


def test_the_full_link_of_the_phase_is_right() -> None:
    found = attribution(
        case_of(), result_of([throttle(12, "a.1", NARROW), throttle(12, "a.1", WIDE)])
    )
    assert (found.named, found.right) == (2, 1)
    assert found.wrong == {"a.1: a->c on the way to b": 1}


def test_what_is_said_of_a_pubend_before_it_has_its_tree_does_not_count() -> None:
    moving = tuple(msgspec.structs.replace(each, moves=each.name == "x") for each in FLOWS)
    case = msgspec.structs.replace(case_of(), flows=moving)
    early = [throttle(CHOSEN_S - 1, pubend, "other->link") for pubend in ("a.1", "a.2")]
    found = attribution(case, result_of([*early, throttle(CHOSEN_S, "a.1", WIDE)]))
    assert found.wrong == {"a.2: other->link on the way to b": 1, "a.1: a->c on the way to b": 1}


def test_after_a_step_the_link_before_is_right_until_the_law_has_settled() -> None:
    records = [throttle(25, "a.1", NARROW), throttle(35, "a.1", NARROW), throttle(35, "a.1", WIDE)]
    found = attribution(case_of(), result_of(records))
    assert (found.named, found.right) == (3, 2)


def test_a_limit_where_nothing_is_full_is_wrong() -> None:
    found = attribution(case_of(), result_of([throttle(12, "a.2", WIDE), throttle(12, "a.1", "")]))
    assert (found.named, found.right) == (2, 0)


def test_nothing_counts_between_a_cut_and_the_end_of_the_recovery() -> None:
    cut = Fault(at_s=20.0, cut=("a", "b"))
    found = attribution(case_of(cut), result_of([throttle(25, "a.1", "elsewhere")]))
    assert found.named == 0


def test_a_probe_names_no_new_cause() -> None:
    found = attribution(case_of(), result_of([throttle(12, "a.1", "elsewhere", rule="probe")]))
    assert found.named == 0


def price(at_s: float, link: str, value: float) -> TraceRecord:
    return TraceRecord(int(at_s * SECOND), "a", link, "link_price", value)


def test_the_dearest_link_of_a_sender_must_be_that_of_the_optimum() -> None:
    records = [price(12, NARROW, 2.0), price(12, WIDE, 1.0), price(13, WIDE, 1.0)]
    found = attribution(case_of(kind="multicast", alpha=0.5), result_of(records))
    assert (found.named, found.right) == (2, 1)
    assert found.wrong == {"x: a->c": 1}


def test_services_that_name_no_link_are_left_out() -> None:
    found = attribution(case_of(kind="datagram"), result_of([throttle(12, "a.1", NARROW)]))
    assert found.named == 0
