"""The life cycles of what takes part in a client's session, as tables of allowed transitions.

1. Everything that reads from a broker (a subscription, a consumer of a queue, a member of a group)
   has the same life cycle: it asks, is accepted or refused, and announces its end.  Everything that
   publishes (a publisher, a sender to a queue, a sender to groups) has the same one too.
2. A table maps a phase and an event to the next phase.  An event that a table does not list for a
   phase cannot happen there: if the broker caused it, the broker violates the protocol; otherwise
   the client itself is wrong.
3. The end of something that is read is announced only on a connection on which it was asked for.
   Deleting a durable subscription is the exception: the broker must hear of it, so it waits for
   the next connection if there is none.

``docs/reference/client.md`` prints both tables; ``tests/client/test_life_cycle.py`` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from enum import Enum
from typing import Final, Generic, TypeVar

from penstock.client.errors import ProtocolViolation
from penstock.core.machine import InvariantBroken

Phase = TypeVar("Phase", bound=Enum)
Event = TypeVar("Event", bound=Enum)


class LifeCycle(Generic[Phase, Event]):
    """A table of transitions."""

    def __init__(
        self,
        name: str,
        transitions: Mapping[Phase, Mapping[Event, Phase]],
        *,
        from_broker: Set[Event],
    ) -> None:
        """``from_broker`` are the events that a message of the broker causes."""
        self.name = name
        self.transitions = transitions
        self._from_broker = from_broker

    def after(self, phase: Phase, event: Event) -> Phase:
        """The next phase; raises ``ProtocolViolation`` or ``InvariantBroken`` if there is none."""
        following = self.transitions[phase].get(event)
        if following is not None:
            return following
        problem = f"{self.name}: {event.name} cannot happen in phase {phase.name}"
        raise (ProtocolViolation if event in self._from_broker else InvariantBroken)(problem)

    def as_markdown(self) -> str:
        """The phases, the events and the table, for the reference."""
        events = list(dict.fromkeys(event for row in self.transitions.values() for event in row))
        lines = ["| phase | meaning |", "| --- | --- |"]
        lines += [f"| `{phase.name}` | {phase.value} |" for phase in self.transitions]
        lines += ["", "| event | meaning |", "| --- | --- |"]
        lines += [f"| `{event.name}` | {event.value} |" for event in events]
        lines += ["", "| in phase | event → next phase |", "| --- | --- |"]
        for phase, row in self.transitions.items():
            moves = ", ".join(f"{event.name} → `{to.name}`" for event, to in row.items())
            lines.append(f"| `{phase.name}` | {moves or 'none'} |")
        return "\n".join(lines)


class ReaderPhase(Enum):
    """How far a subscription, a consumer or a member has come with its broker."""

    AWAY = "no connection"
    UNASKED = "connected, the request was not sent yet"
    ASKED = "the request was sent and not answered yet"
    OPEN = "the broker has accepted it and delivers"
    ASKED_CLOSING = "closed by the application before the broker answered the request"
    CLOSING = "closed by the application; its end was not announced yet"
    LEAVING = "its end was announced and not confirmed yet"
    DELETE_AWAY = "its deletion waits for a connection"
    DELETE_UNSENT = "connected, its deletion was not sent yet"
    DELETE_SENT = "its deletion was sent and not answered yet"
    OVER = "ended, refused or failed"


class ReaderEvent(Enum):
    """What happens to a subscription, a consumer or a member."""

    CONNECTED = "a connection begins"
    DISCONNECTED = "the connection has ended"
    REQUESTED = "the request was sent"
    ACCEPTED = "the broker has accepted the request"
    REFUSED = "the broker has refused the request"
    CLOSED = "the application closes it"
    DELETED = "the application deletes it (durable subscriptions)"
    ANNOUNCED = "its end or its deletion was sent"
    ENDED = "the broker has confirmed its end, or it has failed"


_R, _E = ReaderPhase, ReaderEvent

READER: Final[LifeCycle[ReaderPhase, ReaderEvent]] = LifeCycle(
    "reader",
    {
        _R.AWAY: {
            _E.CONNECTED: _R.UNASKED,
            _E.DISCONNECTED: _R.AWAY,
            _E.CLOSED: _R.OVER,
            _E.DELETED: _R.DELETE_AWAY,
            _E.ENDED: _R.OVER,
        },
        _R.UNASKED: {
            _E.DISCONNECTED: _R.AWAY,
            _E.REQUESTED: _R.ASKED,
            _E.CLOSED: _R.OVER,
            _E.DELETED: _R.DELETE_UNSENT,
            _E.ENDED: _R.OVER,
        },
        _R.ASKED: {
            _E.DISCONNECTED: _R.AWAY,
            _E.ACCEPTED: _R.OPEN,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.ASKED_CLOSING,
            _E.DELETED: _R.DELETE_UNSENT,
            _E.ENDED: _R.OVER,
        },
        _R.OPEN: {
            _E.DISCONNECTED: _R.AWAY,
            _E.ACCEPTED: _R.OPEN,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.CLOSING,
            _E.DELETED: _R.DELETE_UNSENT,
            _E.ENDED: _R.OVER,
        },
        _R.ASKED_CLOSING: {
            _E.DISCONNECTED: _R.OVER,
            _E.ACCEPTED: _R.CLOSING,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.ASKED_CLOSING,
            _E.DELETED: _R.DELETE_UNSENT,
            _E.ANNOUNCED: _R.LEAVING,
            _E.ENDED: _R.OVER,
        },
        _R.CLOSING: {
            _E.DISCONNECTED: _R.OVER,
            _E.ACCEPTED: _R.CLOSING,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.CLOSING,
            _E.DELETED: _R.DELETE_UNSENT,
            _E.ANNOUNCED: _R.LEAVING,
            _E.ENDED: _R.OVER,
        },
        _R.LEAVING: {
            _E.DISCONNECTED: _R.OVER,
            _E.ACCEPTED: _R.LEAVING,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.LEAVING,
            _E.ENDED: _R.OVER,
        },
        _R.DELETE_AWAY: {
            _E.CONNECTED: _R.DELETE_UNSENT,
            _E.DISCONNECTED: _R.DELETE_AWAY,
            _E.CLOSED: _R.DELETE_AWAY,
            _E.DELETED: _R.DELETE_AWAY,
            _E.ENDED: _R.OVER,
        },
        _R.DELETE_UNSENT: {
            _E.DISCONNECTED: _R.DELETE_AWAY,
            _E.ACCEPTED: _R.DELETE_UNSENT,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.DELETE_UNSENT,
            _E.DELETED: _R.DELETE_UNSENT,
            _E.ANNOUNCED: _R.DELETE_SENT,
            _E.ENDED: _R.OVER,
        },
        _R.DELETE_SENT: {
            _E.DISCONNECTED: _R.DELETE_AWAY,
            _E.ACCEPTED: _R.DELETE_SENT,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.DELETE_SENT,
            _E.DELETED: _R.DELETE_SENT,
            _E.ENDED: _R.OVER,
        },
        _R.OVER: {
            _E.CONNECTED: _R.OVER,
            _E.DISCONNECTED: _R.OVER,
            _E.ACCEPTED: _R.OVER,
            _E.REFUSED: _R.OVER,
            _E.CLOSED: _R.OVER,
            _E.DELETED: _R.OVER,
            _E.ENDED: _R.OVER,
        },
    },
    from_broker={_E.ACCEPTED, _E.REFUSED, _E.ENDED},
)

ANNOUNCING: Final = frozenset((_R.ASKED_CLOSING, _R.CLOSING, _R.DELETE_UNSENT))
"""Phases in which the end of a subscription can be announced; a consumer or a member waits for the
answer to its request first (``CLOSING``)."""


class ProducerPhase(Enum):
    """How far a publisher or a sender has come with its broker."""

    AWAY = "no connection"
    UNOPENED = "connected, the request to open was not sent yet"
    OPENING = "the request to open was sent and not answered yet"
    OPEN = "messages may be sent"
    CLOSED = "closed by the application, or the client has ended"


class ProducerEvent(Enum):
    """What happens to a publisher or a sender."""

    CONNECTED = "a connection begins"
    DISCONNECTED = "the connection has ended"
    REQUESTED = "the request to open was sent"
    OPENED = "the broker has opened it"
    REFUSED = "the broker has refused to open it, or another publisher has taken its name"
    CLOSED = "the application closes it, or the client has ended"


_P, _F = ProducerPhase, ProducerEvent

PRODUCER: Final[LifeCycle[ProducerPhase, ProducerEvent]] = LifeCycle(
    "producer",
    {
        _P.AWAY: {_F.CONNECTED: _P.UNOPENED, _F.DISCONNECTED: _P.AWAY, _F.CLOSED: _P.CLOSED},
        _P.UNOPENED: {
            _F.DISCONNECTED: _P.AWAY,
            _F.REQUESTED: _P.OPENING,
            _F.OPENED: _P.OPEN,
            _F.REFUSED: _P.UNOPENED,
            _F.CLOSED: _P.CLOSED,
        },
        _P.OPENING: {
            _F.DISCONNECTED: _P.AWAY,
            _F.OPENED: _P.OPEN,
            _F.REFUSED: _P.UNOPENED,
            _F.CLOSED: _P.CLOSED,
        },
        _P.OPEN: {
            _F.DISCONNECTED: _P.AWAY,
            _F.OPENED: _P.OPEN,
            _F.REFUSED: _P.UNOPENED,
            _F.CLOSED: _P.CLOSED,
        },
        _P.CLOSED: {
            _F.CONNECTED: _P.CLOSED,
            _F.DISCONNECTED: _P.CLOSED,
            _F.OPENED: _P.CLOSED,
            _F.REFUSED: _P.CLOSED,
            _F.CLOSED: _P.CLOSED,
        },
    },
    from_broker={_F.OPENED, _F.REFUSED},
)
