"""Runs a broker's machine in real time.

1. Facts are handed to the machine one at a time, in the order of their occurrence, together with
   the present instant; each fact's effects are carried out before the next fact.
2. A fact that occurs while effects are carried out is queued: the machine is never re-entered.
3. One timer covers the machine's next deadline.  It is rescheduled only when the deadline becomes
   earlier: a timer that fires too early finds nothing due and costs less than one timer for every
   message.  The machine is asked for its deadline once per turn of the event loop, after
   everything that the turn sends.
4. A machine that raises, or an effect that cannot be carried out, stops the driver: the state may
   be half-changed, so no further fact is handed over and no further effect is carried out.
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
"""The event loop counts whole milliseconds; a timer that fires before its deadline is useless."""


class Peers(Protocol):
    """The connections that receive the machine's effects."""

    def send(self, effect: Send) -> None:
        """Queue a message for a neighbour or a client; ignored if it is not connected."""

    def send_best_effort(self, effect: BestEffort) -> None:
        """Send messages as datagrams, without any guarantee."""

    def close_session(self, effect: CloseSession) -> None:
        """End a client's connection."""

    def machine_failed(self, fact: Fact | None, error: Exception) -> None:
        """React to an exception of the machine; the driver has stopped."""


class Driver:
    """Feeds facts to one machine and carries out its effects."""

    def __init__(
        self,
        machine: Machine,
        clock: WallClock,
        durability: Durability,
        peers: Peers,
        on_trace: Callable[[TraceRecord], None],
    ) -> None:
        """Create a driver that is idle until ``start`` or the first fact."""
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
        """Carry out the effects that the machine orders before its first fact."""
        self._busy = True
        self._carry_out(effects)
        self._busy = False
        self.feed()

    def stop(self) -> None:
        """Drop queued facts and accept no further ones."""
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
