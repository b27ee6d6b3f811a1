"""The contract between a protocol and the world that runs it.

A protocol is a machine: it is told facts (inputs) together with the present instant, and it
answers with orders (effects).  It owns no socket, clock, thread or global randomness.

1. The driver calls ``handle`` for every fact, one at a time, and carries out the effects in the
   order in which they were returned.
2. After each call the driver asks ``next_deadline``.  Timers are state of the machine, so there is
   no timer to cancel and no stale one can fire; at or after the deadline the driver hands over
   ``DeadlineReached``.
3. What must be durable before it is spoken of is ordered with ``Persist`` or ``PersistState``; the
   acknowledgement or the send that depends on it is returned only from the handling of
   ``Persisted``.
4. ``check_invariants`` raises ``InvariantBroken`` if the state is impossible; the simulator calls
   it throughout its histories.

Facts and orders are frozen ``msgspec`` structs: they compare by value like frozen dataclasses, so
that a test is one equality, and cost a tenth of their construction time.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord

LinkName: TypeAlias = str
"""A link is named by the neighbour at its other end; a client's session by its session name."""


OWN_SESSION: Final[LinkName] = "broker/own"
"""The session on which a broker publishes what it says of itself."""


class Priority(IntEnum):
    """Which of a link's two queues a message waits in; control always goes first."""

    CONTROL = 0
    DATA = 1


class InvariantBroken(AssertionError):
    """The machine's state is one that no sequence of facts should lead to."""


class Fact(msgspec.Struct, frozen=True, gc=False):
    """Something that the world tells a machine."""


class Received(Fact, frozen=True, gc=False):
    """A message arrived on a link."""

    link: LinkName
    message: Any


class LinkUp(Fact, frozen=True, gc=False):
    """A link to a neighbour was established; whatever was in flight before is gone."""

    link: LinkName


class LinkDown(Fact, frozen=True, gc=False):
    """A link was lost, together with everything that was queued on it."""

    link: LinkName


class SessionOpened(Fact, frozen=True, gc=False):
    """A client's connection was accepted."""

    session: LinkName


class SessionClosed(Fact, frozen=True, gc=False):
    """A client's connection is gone."""

    session: LinkName


class DeadlineReached(Fact, frozen=True, gc=False):
    """The instant that ``next_deadline`` named has come."""


class Persisted(Fact, frozen=True, gc=False):
    """Everything ordered under this token is on stable storage."""

    token: int


class PersistFailed(Fact, frozen=True, gc=False):
    """The store could not do what was ordered under this token.

    Unless it is ``uncertain``, nothing of it is durable and nothing of it will ever be (a full
    disk, an order above a limit).  After a failed sync it is uncertain: only opening the store
    again can tell, so nobody may be told that it was not stored, nor may anything be built on it.
    """

    token: int
    reason: str
    uncertain: bool = False


class QueuesMeasured(Fact, frozen=True, gc=False):
    """How many bytes wait on each link at present; links on which nothing waits may be left out."""

    queued_bytes: dict[LinkName, int]


class LogRead(Fact, frozen=True, gc=False):
    """The answer to ``ReadLog``: the stored frames that touch the interval, in order.

    ``complete_to`` is the end of what was looked at: everything in ``[low, complete_to)`` that is
    not in ``frames`` is silence.  It is less than the ``high`` that was asked for when the limit
    on bytes was reached first.  What lies below ``complete_from`` was trimmed: not silence, but
    no longer known.  The intervals of ``lost``, ascending, held something that the disk can no
    longer read.
    """

    token: int
    frames: tuple[Any, ...]
    complete_to: int
    complete_from: int = 0
    lost: tuple[tuple[int, int], ...] = ()


class Effect(msgspec.Struct, frozen=True, gc=False):
    """Something that a machine orders the world to do."""


class Send(Effect, frozen=True, gc=False):
    """Queue a message on a link (or to a client's session)."""

    link: LinkName
    message: Any
    priority: Priority = Priority.DATA
    flow: str = ""
    """Data of different flows takes turns on a link that is fair; within one the order holds."""


class Persist(Effect, frozen=True, gc=False):
    """Append a frame to a log; ``Persisted(token)`` follows when it is durable."""

    token: int
    log: str
    frame: Any


class PersistState(Effect, frozen=True, gc=False):
    """Set small named values in one transaction (None deletes); ``Persisted(token)`` follows."""

    token: int
    values: dict[str, bytes | None]


class ReadLog(Effect, frozen=True, gc=False):
    """Read the frames of a log that touch ``[low, high)``; ``LogRead(token, …)`` follows.

    At most ``max_bytes`` of them, and ``max_frames`` unless that is 0; one in any case.
    """

    token: int
    log: str
    low: int
    high: int
    max_bytes: int
    max_frames: int = 0


class TrimLog(Effect, frozen=True, gc=False):
    """Nothing below this tick is needed any more; the store may give the space back."""

    log: str
    below: int


class CloseSession(Effect, frozen=True, gc=False):
    """End a client's connection, telling it why.

    ``code`` and ``subject`` are for programs: what happened, and to what.
    """

    session: LinkName
    reason: str
    code: str = ""
    subject: str = ""


class Trace(Effect, frozen=True, gc=False):
    """Write a telemetry record."""

    record: TraceRecord


class Machine(Protocol):
    """What both worlds drive."""

    def handle(self, fact: Fact, *, now: Instant) -> Iterable[Effect]:
        """Take one fact in and give the orders that follow from it."""
        ...

    def next_deadline(self) -> Instant | None:
        """When the machine wants to hear ``DeadlineReached``, if nothing happens before."""
        ...

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the state is impossible."""
        ...
