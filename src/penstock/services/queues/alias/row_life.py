"""The life of a row in an alias queue, as a transition table.

A row is identified by its position.  A position is in exactly one state, and ``TRANSITIONS`` is the
complete list of what can happen to it; docs/reference/queues.md prints the table.

The alias queue keeps rows as sets of intervals, one set for each state (for each destination, where
the state has one), so that a run of a thousand rows moves in one step.  ``AliasQueue.row_states``
returns these sets; ``check_invariants`` requires that they are disjoint, and a test holds every
change of them in random histories against this table.

A crash is no event of the table: afterwards a row whose decision is in the journal is DECIDED,
every other row in the journal is WAITING, and a row that passed through without a decision is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class RowState(Enum):
    """Where a row is; the value says which object keeps the set."""

    NEW = "not admitted yet"
    APPENDING = "on its way to the disk of this broker (`Appender`)"
    ARRIVING = "passes through, behind rows on their way to the disk (`PassThrough`)"
    HANDED_OVER = "given to a queue of this broker, which has not answered (`Handover`)"
    WAITING = "waits to be forwarded (`AliasRows.waiting`)"
    IN_FLIGHT = "forwarded to one destination (`AliasDestination.in_flight`)"
    DECIDING = "owned by a destination; the note is not durable (`AliasDestination.deciding`)"
    DISCARDING = "discarded; the note is not durable (`DecisionNotes`)"
    DECIDED = "owned by a destination that has not confirmed it (`AliasDestination.decided`)"
    GONE = "the alias queue has forgotten it"


class RowEvent(Enum):
    """What happens to a row."""

    ADMITTED = "a producer sends it, and it is to be stored here"
    PASSED = "a producer sends it, and all destinations are near"
    PERSISTED = "the store has it"
    STORE_FAILED = "the store refuses it, and so does the alias queue"
    RELEASED = "no earlier row is on its way to the disk"
    HANDED = "every destination that can take it is a queue of this broker"
    ANSWERED = "the queue has stored it, or it is stored here under a new position"
    STORED_INSTEAD = "it passes through too slowly, and is stored under a new position"
    FORWARDED = "it is sent to a destination"
    TAKEN_BACK = "the destination is unreachable, silent, retired, or refuses it"
    CLAIMED = "a destination reports that it has stored it"
    DISCARDED = "it expires, is purged, or its body cannot be read"
    NOTE_DURABLE = "the note about it is durable"
    NOTE_RETRIED = "the store refuses the note; it is written again"
    NOTE_ABANDONED = "the store refuses the note about a row that passes through; it is withdrawn"
    RESOLVED = "the destination confirms that it knows the decision"


_S, _E = RowState, RowEvent

TRANSITIONS: Final[Mapping[tuple[RowState, RowEvent], RowState]] = MappingProxyType(
    {
        (_S.NEW, _E.ADMITTED): _S.APPENDING,
        (_S.NEW, _E.PASSED): _S.ARRIVING,
        (_S.APPENDING, _E.PERSISTED): _S.WAITING,
        (_S.APPENDING, _E.STORE_FAILED): _S.GONE,
        (_S.ARRIVING, _E.RELEASED): _S.WAITING,
        (_S.ARRIVING, _E.HANDED): _S.HANDED_OVER,
        (_S.ARRIVING, _E.STORED_INSTEAD): _S.GONE,
        (_S.HANDED_OVER, _E.ANSWERED): _S.GONE,
        (_S.WAITING, _E.FORWARDED): _S.IN_FLIGHT,
        (_S.WAITING, _E.CLAIMED): _S.DECIDING,
        (_S.WAITING, _E.DISCARDED): _S.DISCARDING,
        (_S.WAITING, _E.STORED_INSTEAD): _S.GONE,
        (_S.IN_FLIGHT, _E.TAKEN_BACK): _S.WAITING,
        (_S.IN_FLIGHT, _E.CLAIMED): _S.DECIDING,
        (_S.IN_FLIGHT, _E.STORED_INSTEAD): _S.GONE,
        (_S.DECIDING, _E.NOTE_DURABLE): _S.DECIDED,
        (_S.DECIDING, _E.NOTE_RETRIED): _S.DECIDING,
        (_S.DECIDING, _E.NOTE_ABANDONED): _S.GONE,
        (_S.DISCARDING, _E.NOTE_DURABLE): _S.GONE,
        (_S.DISCARDING, _E.NOTE_RETRIED): _S.DISCARDING,
        (_S.DISCARDING, _E.NOTE_ABANDONED): _S.GONE,
        (_S.DECIDED, _E.CLAIMED): _S.DECIDED,
        (_S.DECIDED, _E.RESOLVED): _S.GONE,
    }
)


def reachable(state: RowState, events: frozenset[RowEvent]) -> frozenset[RowState]:
    """The states that a row can reach by any number of these events, its own included."""
    found = {state}
    while True:
        after = {
            following
            for (before, event), following in TRANSITIONS.items()
            if before in found and event in events
        }
        if after <= found:
            return frozenset(found)
        found |= after


def as_markdown() -> str:
    """The states, events and transitions as tables for the documentation."""
    lines = ["| state | the row |", "| --- | --- |"]
    lines += [f"| {each.name} | {each.value} |" for each in RowState]
    lines += ["", "| in state | event | because | next state |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {state.name} | {event.name} | {event.value} | {after.name} |"
        for (state, event), after in TRANSITIONS.items()
    ]
    return "\n".join(lines) + "\n"
