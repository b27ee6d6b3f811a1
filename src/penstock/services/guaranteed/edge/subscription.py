"""One subscription at an edge: its positions, and the window of its reader.

1. ``positions`` is the end of what was delivered to the reader's session, for each pubend; what
   follows is contiguous with it.
2. ``consumed`` is the end of what the reader has acknowledged.  When everything that was delivered
   is consumed, silence counts as consumed too, so an idle subscription does not hold the log.
3. A subscription with ``ends`` reads intervals: it takes no part in the live stream, and silence is
   delivered too, so that its reader knows its progress and the end.
4. At most ``window_bytes`` are in flight to the reader; more waits in a buffer.  A subscription
   whose buffer overflows leaves the live stream until it has caught up
   (penstock.services.guaranteed.edge.past_readers): ``slow_since`` tells since when.
5. ``started`` is where it began on this connection, for each pubend.  The reader is told this and
   not ``positions``, since deliveries may overtake ``Subscribed``.
6. Once it is in force, everything that is published is due, also on pubends that appear later:
   ``since`` is the instant of that promise, None before (``edge/starting``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from penstock.content.rows.frame import Frame
from penstock.content.selectors.selector import Selector
from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.core.limits import MOST_STREAMS
from penstock.core.machine import Effect, InvariantBroken, LinkName, Priority, Send
from penstock.core.trace import is_own_stream
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.messages import Delivery

TAKEN_OVER: Final = "subscription-taken-over"
"""Code of the goodbye to the reader of a durable subscription that another connection has opened;
its subject is the subscription's name."""

NOTHING: Final = "FALSE"
"""The selector of a client that wants to know the streams and none of their live rows."""


class DurableState(msgspec.Struct, frozen=True):
    """What is saved of a durable subscription."""

    selector: str
    consumed: dict[str, Tick]
    start: str = "now"
    start_time: Tick = 0
    since: Tick = 0
    """When it was made; 0 if it was saved before this was recorded."""

    pubends: tuple[str, ...] = ()
    claimed: bool = True
    """Whether every source that was known when it was made has saved its claim."""

    absent_since: Instant = 0
    """When its last reader left; 0 while it has one."""


class Subscription:
    """A subscription, connected or not."""

    def __init__(self, key: int, name: str, selector: Selector, *, durable: bool = False) -> None:
        self.key = key
        self.name = name
        self.selector = selector
        self.durable = durable
        self.session: LinkName | None = None
        self.announced = False
        self.start = "now"
        self.start_time: Tick = 0
        self.made_at: Instant = 0
        self.since: Tick | None = None
        self.claimed = not durable
        self.absent_since: Instant = 0
        self.started: dict[str, Tick] = {}
        self.positions: dict[str, Tick] = {}
        self.consumed: dict[str, Tick] = {}
        self.saved: dict[str, Tick] = {}
        self.last_row: dict[str, Tick] = {}
        self.live: dict[str, None] = {}
        self.confirmed_at: dict[str, Tick] = {}
        self.catching_up: dict[str, EdgeStream] = {}
        self.ends: dict[str, Tick] = {}
        self.pubends: tuple[str, ...] = ()
        self.window_bytes = 0
        self.under_way_bytes = 0
        self.buffered_bytes = 0
        self.delivered_messages = 0
        self.slow_since: Instant | None = None
        self.times_slow = 0
        self._buffer: deque[tuple[Delivery, int]] = deque()

    def connect(self, session: LinkName, window_bytes: int) -> None:
        """A reader is connected."""
        self.session = session
        self.window_bytes = window_bytes
        self.announced = False
        self.under_way_bytes = 0
        self.buffered_bytes = 0
        self.slow_since = None
        self._buffer.clear()
        self.live.clear()
        self.confirmed_at.clear()
        self.catching_up.clear()
        self.last_row.clear()

    @property
    def wanted(self) -> str:
        """The selector that is registered with the sources; ``NOTHING`` for a reader of intervals.

        What such a reader reads is requested piece by piece; it needs no live data.
        """
        return NOTHING if self.ends else self.selector.text

    def reads(self, pubend: str) -> bool:
        """Whether the subscription includes a stream.

        The brokers' own streams must be named: a subscription to everything means everything that
        clients publish.
        """
        if self.ends:
            return pubend in self.ends
        if self.pubends:
            return any(fnmatchcase(pubend, pattern) for pattern in self.pubends)
        return not is_own_stream(pubend) or pubend in self.positions

    def resume(self, positions: Mapping[str, Tick], *, same_reader: bool) -> None:
        """Continue from what was consumed, or from the positions that the reader gives.

        What lies between the two was delivered before and is not consumed yet.  A reader that was
        connected before does not know of silence that counts as consumed: it continues behind it.
        A new reader may ask for what was consumed before.
        """
        if same_reader:
            positions = {
                pubend: max(tick, self.consumed.get(pubend, tick))
                for pubend, tick in positions.items()
            }
        self.positions = {**self.consumed, **positions}
        self.started = dict(self.positions)
        for pubend, position in positions.items():
            if position > self.consumed.get(pubend, position):
                self.last_row[pubend] = position - 1

    def disconnect(self) -> None:
        """The reader is gone; a durable subscription continues from what was consumed."""
        self.connect("", 0)
        self.session = None
        self.positions = dict(self.consumed)

    def deliver(self, pubend: str, frame: Frame, out: list[Effect]) -> None:
        """Deliver a contiguous piece of a stream; of silence only the position is kept."""
        start = self.positions.get(pubend, frame.low)
        if frame.high <= start:
            return
        if frame.low < start:
            frame = frame.slice(start, frame.high)
        if not len(frame) and not frame.final and not self.ends:
            self.positions[pubend] = frame.high
            return
        # What was skipped is silence: it is delivered together with rows, and is no part of a loss.
        low = frame.low if frame.final else start
        whole = Frame(low, frame.high, frame.ticks, frame.batch, final=frame.final)
        self.positions[pubend] = frame.high
        if len(frame):
            self.last_row[pubend] = int(frame.ticks[-1])
            self.delivered_messages += len(frame)
        self._send(Delivery(self.name, pubend, whole), whole.weight, out)

    def _send(self, delivery: Delivery, weight: int, out: list[Effect]) -> None:
        if self._buffer or self.under_way_bytes + weight > max(self.window_bytes, weight):
            self._buffer.append((delivery, weight))
            self.buffered_bytes += weight
            return
        assert self.session is not None
        self.under_way_bytes += weight
        out.append(Send(self.session, delivery, Priority.DATA))

    def taken(self, count_bytes: int, out: list[Effect]) -> None:
        """The reader took bytes out of its window: send what waits."""
        self.under_way_bytes = max(0, self.under_way_bytes - count_bytes)
        while self._buffer:
            delivery, weight = self._buffer[0]
            if self.under_way_bytes and self.under_way_bytes + weight > self.window_bytes:
                return
            self._buffer.popleft()
            self.buffered_bytes -= weight
            self.under_way_bytes += weight
            assert self.session is not None
            out.append(Send(self.session, delivery, Priority.DATA))

    @property
    def has_room(self) -> bool:
        """Whether the window has room for more of the past."""
        return not self._buffer and self.under_way_bytes < self.window_bytes

    def fell_behind(self, now: Instant) -> None:
        """The subscription left one more live stream because it reads too slowly."""
        self.times_slow += 1
        if self.slow_since is None:
            self.slow_since = now

    def caught_up(self) -> None:
        """It is live on one more stream; on all of them, it is not slow any more."""
        if not self.catching_up:
            self.slow_since = None

    def consume(self, ticks: dict[str, Tick]) -> None:
        """The reader has processed everything below these ticks."""
        for pubend, tick in ticks.items():
            delivered = self.positions.get(pubend)
            if delivered is None or (
                pubend not in self.consumed and len(self.consumed) >= MOST_STREAMS
            ):
                # Nothing of it was ever delivered, or there are too many streams.
                continue
            self.consumed[pubend] = max(self.consumed.get(pubend, 0), min(tick, delivered))

    def settle(self, horizons: Mapping[str, Tick]) -> None:
        """Count trailing silence as consumed where everything that was delivered is consumed.

        ``horizons`` are those of the live streams: matching rows below them were delivered already,
        so the rest is silence to this subscriber.
        """
        for pubend, position in self.positions.items():
            consumed = self.consumed.get(pubend, position)
            if self.last_row.get(pubend, -1) < consumed:
                self.consumed[pubend] = max(consumed, position, horizons.get(pubend, 0))

    def check_invariants(self) -> None:
        """No stream is both live and catching up."""
        both = self.live.keys() & self.catching_up.keys()
        if both:
            raise InvariantBroken(f"subscription {self.name}: {sorted(both)} live and catching up")

    def state(self) -> bytes:
        """The state to save of a durable subscription."""
        state = DurableState(
            self.selector.text,
            dict(self.consumed),
            self.start,
            self.start_time,
            self.made_at,
            self.pubends,
            self.claimed,
            self.absent_since,
        )
        return msgspec.msgpack.encode(state)

    def restore(self, state: DurableState, now: Instant) -> None:
        """Restore the saved state of a durable subscription."""
        self.consumed = dict(state.consumed)
        self.saved = dict(state.consumed)
        self.positions = dict(state.consumed)
        self.start, self.start_time = state.start, state.start_time
        self.made_at = self.since = state.since or now
        self.pubends = state.pubends
        self.claimed = state.claimed
        # If it had a reader when the broker stopped, it has none since the start.
        self.absent_since = state.absent_since or now
