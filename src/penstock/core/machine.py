"""The contract between a protocol and the world that runs it.

A protocol is a machine: it receives facts (inputs) together with the present instant, and returns
orders (effects).  It owns no socket, clock, thread or global randomness.

1. The driver calls ``handle`` for every fact, one at a time, and carries out the effects in the
   order in which they were returned.
2. After each call the driver reads ``next_deadline``.  Timers are state of the machine, so no timer
   needs to be cancelled and no stale one can fire; at or after the deadline the driver passes
   ``DeadlineReached``.
3. A value that must be durable before any message depends on it is ordered with ``Persist`` or
   ``PersistState``; the acknowledgement or the send that depends on it is returned only when
   ``Persisted`` is handled.
4. ``check_invariants`` raises ``InvariantBroken`` if the state is impossible; the simulator calls
   it throughout its runs.

Facts and orders are frozen ``msgspec`` structs: they compare by value like frozen dataclasses, so
that a test is one equality, and take a tenth of the time to construct.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord

LinkName: TypeAlias = str
"""A link has the name of the neighbour at its other end, a client's session its session name."""


YIELDING: Final = "/past"
"""A flow whose name ends so yields to the others of a fair link: it gets an eighth of their share
while they have data, and the rest of the link when they have not."""

OWN_SESSION: Final[LinkName] = "broker/own"
"""The session on which a broker publishes what it says of itself."""


class Priority(IntEnum):
    """The queue of a link in which a message waits; control is always sent first."""

    CONTROL = 0
    DATA = 1


class InvariantBroken(AssertionError):
    """The machine is in a state that no sequence of facts should lead to."""


class Fact(msgspec.Struct, frozen=True, gc=False):
    """An input of a machine."""


class Received(Fact, frozen=True, gc=False):
    """A message arrived on a link."""

    link: LinkName
    message: Any


class LinkUp(Fact, frozen=True, gc=False):
    """A link to a neighbour was established; everything in flight before is lost."""

    link: LinkName


class LinkDown(Fact, frozen=True, gc=False):
    """A link was lost, with everything that was queued on it."""

    link: LinkName


class SessionOpened(Fact, frozen=True, gc=False):
    """A client's connection was accepted."""

    session: LinkName


class SessionClosed(Fact, frozen=True, gc=False):
    """A client's connection ended."""

    session: LinkName


class DeadlineReached(Fact, frozen=True, gc=False):
    """The instant that ``next_deadline`` returned has passed."""


class Persisted(Fact, frozen=True, gc=False):
    """Everything ordered under this token is on stable storage."""

    token: int


class PersistFailed(Fact, frozen=True, gc=False):
    """The store could not do what was ordered under this token.

    Unless it is ``uncertain``, nothing of the order is durable or will become so (a full disk, an
    order above a limit).  After a failed sync it is uncertain until the store is opened again:
    the machine must neither report it as not stored nor rely on it.
    """

    token: int
    reason: str
    uncertain: bool = False


class QueuesMeasured(Fact, frozen=True, gc=False):
    """The bytes that wait on each link; links on which nothing waits can be left out.

    It is told at fixed intervals while anything waits or was sent since it was told last.
    """

    queued_bytes: dict[LinkName, int]
    flow_bytes: dict[LinkName, dict[str, int]] = {}
    """The data among them, by the flow that it was sent under."""


class LogRead(Fact, frozen=True, gc=False):
    """The answer to ``ReadLog``: the stored frames that touch the interval, in order.

    ``complete_to`` is the end of what was read: everything in ``[low, complete_to)`` that is not in
    ``frames`` is silence.  It is less than the requested ``high`` if the limit on bytes was
    reached first.  Everything below ``complete_from`` was trimmed: it is not silence, but no longer
    known.  The ascending intervals of ``lost`` held rows that the disk can no longer read.
    """

    token: int
    frames: tuple[Any, ...]
    complete_to: int
    complete_from: int = 0
    lost: tuple[tuple[int, int], ...] = ()


class Effect(msgspec.Struct, frozen=True, gc=False):
    """An order of a machine to its driver."""


class ToApplication(Effect, frozen=True, gc=False):
    """Something that a client's machine tells its application; a world carries out nothing."""


class Send(Effect, frozen=True, gc=False):
    """Queue a message on a link (or to a client's session)."""

    link: LinkName
    message: Any
    priority: Priority = Priority.DATA
    flow: str = ""
    """On a fair link data of different flows takes turns; within a flow the order is kept."""


class Persist(Effect, frozen=True, gc=False):
    """Append a frame to a log; ``Persisted(token)`` follows when it is durable."""

    token: int
    log: str
    frame: Any


class PersistState(Effect, frozen=True, gc=False):
    """Set named values in one transaction (None deletes); ``Persisted(token)`` follows."""

    token: int
    values: dict[str, bytes | None]


class ReadLog(Effect, frozen=True, gc=False):
    """Read the frames of a log that touch ``[low, high)``; ``LogRead(token, …)`` follows.

    At most ``max_bytes`` of them, and ``max_frames`` unless that is 0, but at least one frame.
    """

    token: int
    log: str
    low: int
    high: int
    max_bytes: int
    max_frames: int = 0


class TrimLog(Effect, frozen=True, gc=False):
    """Nothing below this tick is needed any more; the store can free the space."""

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
    """A protocol, as the simulator and the network drive it."""

    def handle(self, fact: Fact, *, now: Instant) -> Iterable[Effect]:
        """Handle one fact and return the orders that follow from it."""
        ...

    def next_deadline(self) -> Instant | None:
        """When the machine needs ``DeadlineReached``, if no other fact comes first."""
        ...

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the state is impossible."""
        ...
