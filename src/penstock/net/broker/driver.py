"""Runs a broker's machine in real time.

1. Facts are handed to the machine one at a time, in the order in which they came about, together
   with the present instant; each fact's effects are carried out before the next fact.
2. A fact that comes about while effects are carried out waits for its turn: the machine is never
   entered twice.
3. The machine's next deadline is one timer.  It is set anew only when the deadline moves forward:
   a timer that fires too early finds nothing due and costs less than one for every message.  The
   machine is asked for it behind everything that the turn of the event loop sends, once for all.
4. A machine that raises, or an order that cannot be carried out, ends the driver: the state may be
   half-changed, so no further fact is handed over and no further order is carried out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from penstock.core.clock import NEVER, Instant, in_seconds
from penstock.core.datagrams import BestEffort, SendBestEffort, SendTogether
from penstock.core.machine import (
    CloseSession,
    DeadlineReached,
    Effect,
    Fact,
    Machine,
    Persist,
    PersistState,
    ReadLog,
    Send,
    Trace,
    TrimLog,
)
from penstock.core.trace import TraceRecord
from penstock.net.broker.durability import Durability
from penstock.net.wall_clock import WallClock

TIMER_GRAIN_S: Final = 0.001
"""The event loop counts whole milliseconds; waking up before a deadline would be in vain."""


class Peers(Protocol):
    """The connections that effects go to."""

    def send(self, effect: Send) -> None:
        """Queue a message for a neighbour or a client; one that is gone gets nothing."""

    def send_best_effort(self, effect: BestEffort) -> None:
        """The same as datagrams, without any promise."""

    def close_session(self, effect: CloseSession) -> None:
        """End a client's connection."""

    def machine_failed(self, fact: Fact | None, error: Exception) -> None:
        """The machine raised; the driver has stopped."""


class Driver:
    """Feeds one machine and carries out what it orders."""

    def __init__(
        self,
        machine: Machine,
        clock: WallClock,
        durability: Durability,
        peers: Peers,
        on_trace: Callable[[TraceRecord], None],
    ) -> None:
        """Nothing happens before the first fact."""
        self._machine = machine
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._facts: deque[Fact] = deque()
        self._busy = False
        self._stopped = False
        self._on_failure = peers.machine_failed
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: Instant = NEVER
        self._timer_scheduled = False
        self._orders: dict[type[Effect], Callable[[Any], None]] = {
            Send: peers.send,
            SendBestEffort: lambda effect: peers.send_best_effort(effect),
            SendTogether: lambda effect: peers.send_best_effort(effect),
            Persist: durability.persist,
            PersistState: durability.persist_state,
            ReadLog: durability.read,
            TrimLog: durability.trim,
            CloseSession: peers.close_session,
            Trace: lambda effect: on_trace(effect.record),
        }

    def start(self, effects: Iterable[Effect]) -> None:
        """Carry out what the machine orders before it has heard anything."""
        self._busy = True
        self._carry_out(effects)
        self._busy = False
        self.feed()

    def stop(self) -> None:
        """Hear nothing more."""
        self._stopped = True
        self._facts.clear()
        if self._timer is not None:
            self._timer.cancel()

    def feed(self, facts: Iterable[Fact] = ()) -> None:
        """Hand facts to the machine."""
        if self._stopped:
            return
        self._facts.extend(facts)
        if self._busy:
            return
        self._busy = True
        fact: Fact | None = None
        try:
            while self._facts:
                fact = self._facts.popleft()
                self._carry_out(self._machine.handle(fact, now=self._clock.now()))
        except Exception as error:
            self._fail(fact, error)
        self._busy = False
        if not self._timer_scheduled:
            self._timer_scheduled = True
            self._loop.call_soon(self._set_timer)

    def _fail(self, fact: Fact | None, error: Exception) -> None:
        self.stop()
        self._on_failure(fact, error)

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        orders = self._orders
        for effect in effects:
            orders[type(effect)](effect)

    def _set_timer(self) -> None:
        self._timer_scheduled = False
        if self._stopped:
            return
        deadline = self._next_deadline()
        if deadline is None or deadline >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        delay_s = in_seconds(max(0, deadline - self._clock.now()))
        self._timer = self._loop.call_later(delay_s + TIMER_GRAIN_S, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self._timer_at = NEVER
        deadline = self._next_deadline()
        if deadline is not None and deadline <= self._clock.now():
            self.feed((DeadlineReached(),))
        else:
            self._set_timer()

    def _next_deadline(self) -> Instant | None:
        try:
            return self._machine.next_deadline()
        except Exception as error:
            self._fail(None, error)
            return None
