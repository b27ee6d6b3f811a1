from pathlib import Path

import pytest

from penstock.client.errors import ProtocolViolation
from penstock.client.life_cycle import (
    ANNOUNCING,
    PRODUCER,
    READER,
    LifeCycle,
    ProducerEvent,
    ProducerPhase,
    ReaderEvent,
    ReaderPhase,
)
from penstock.core.machine import InvariantBroken

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "client.md"


@pytest.mark.parametrize("cycle", [READER, PRODUCER], ids=lambda cycle: cycle.name)
def test_the_reference_prints_the_table(cycle: LifeCycle[ReaderPhase, ReaderEvent]) -> None:
    begin, end = f"<!-- {cycle.name}: begin -->\n", f"\n<!-- {cycle.name}: end -->"
    printed = DOCUMENT.read_text().partition(begin)[2].partition(end)[0]
    assert printed == cycle.as_markdown(), "copy the output of as_markdown() into the document"


@pytest.mark.parametrize(
    ("cycle", "phases"), [(READER, ReaderPhase), (PRODUCER, ProducerPhase)], ids=["reader", "prod."]
)
def test_every_phase_has_a_row_and_can_be_reached(cycle: LifeCycle, phases: type) -> None:
    assert list(cycle.transitions) == list(phases)
    reached = {phases.AWAY} | {to for row in cycle.transitions.values() for to in row.values()}
    assert reached == set(phases)


def test_what_is_over_stays_over() -> None:
    assert set(READER.transitions[ReaderPhase.OVER].values()) == {ReaderPhase.OVER}
    assert set(PRODUCER.transitions[ProducerPhase.CLOSED].values()) == {ProducerPhase.CLOSED}


@pytest.mark.parametrize("phase", ReaderPhase)
def test_anything_that_is_read_can_be_closed_and_can_fail(phase: ReaderPhase) -> None:
    assert ReaderEvent.CLOSED in READER.transitions[phase]
    assert READER.after(phase, ReaderEvent.ENDED) is ReaderPhase.OVER


def test_a_disconnection_ends_what_was_closed_and_keeps_a_deletion() -> None:
    after = {phase: READER.after(phase, ReaderEvent.DISCONNECTED) for phase in ReaderPhase}
    assert {after[phase] for phase in ANNOUNCING - {ReaderPhase.DELETE_UNSENT}} == {
        ReaderPhase.OVER
    }
    assert after[ReaderPhase.DELETE_SENT] is ReaderPhase.DELETE_AWAY
    assert after[ReaderPhase.OPEN] is ReaderPhase.AWAY


def test_an_event_that_cannot_happen_blames_its_cause() -> None:
    with pytest.raises(ProtocolViolation, match="reader: ACCEPTED cannot happen in phase UNASKED"):
        READER.after(ReaderPhase.UNASKED, ReaderEvent.ACCEPTED)
    with pytest.raises(InvariantBroken, match="producer: REQUESTED cannot happen in phase AWAY"):
        PRODUCER.after(ProducerPhase.AWAY, ProducerEvent.REQUESTED)
