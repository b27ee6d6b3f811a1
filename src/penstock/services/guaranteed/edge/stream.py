"""A stream as an edge broker assembles it: doubt horizon, receive window, requests.

1. The doubt horizon is the first unknown tick; everything below it was delivered, in order, once.
2. Knowledge is kept only inside the receive window above the horizon.  What lies beyond is ignored
   and requested later; an edge that has ignored knowledge is "recovering" (Section 4).
3. Unknown ticks inside both windows, below the highest tick seen in data, are requested in units of
   ``nack_unit_ns``.  Each unit has its own repetition timer.
4. Links keep the order, so a request is lost when one that was sent later is answered: it is
   repeated after the usual time-out, without the back-off for missing answers.  An answer that
   arrives sooner than usual after a repetition belongs to an earlier copy of the request, and one
   from the memory of a near relay overtakes those from farther on: neither proves anything about
   other requests.
5. Requests that were sent at about the same time and stay without answer are one time-out, and
   double the next one once.
6. An answer that stopped at a limit releases the units behind it, which are requested at once: the
   answers themselves are the clock.
"""

from __future__ import annotations

from penstock.content.rows.frame import Frame
from penstock.content.rows.knowledge import KnowledgeMap
from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.machine import InvariantBroken
from penstock.services.guaranteed.edge.request import Request
from penstock.services.guaranteed.laws.answer_round_trips import (
    HERE,
    AnswerOrigin,
    AnswerRoundTrips,
)
from penstock.services.guaranteed.laws.nack_window import MAX_UNITS, NackAnswer, NackWindow
from penstock.services.guaranteed.messages import LIVE_FILTER
from penstock.services.guaranteed.parameters import GuaranteedParameters


class EdgeStream:
    """One pubend's stream at an edge, for all live subscribers or for one that catches up."""

    def __init__(
        self,
        pubend: str,
        filter_text: str,
        start: Tick,
        window: NackWindow,
        parameters: GuaranteedParameters,
        *,
        receive_window: Duration,
        receive_window_bytes: int | None = None,
        unit_ns: Duration | None = None,
        most_units: int = MAX_UNITS,
        most_ready: int = 0,
    ) -> None:
        """The stream begins at ``start``.

        ``receive_window_bytes`` bounds the bytes that are held, and ``unit_ns`` is the smallest
        piece that is requested; without them the parameters decide.  ``most_ready`` is how many
        frames are returned at once; 0 is no limit.
        """
        self.pubend = pubend
        self.filter = filter_text
        self.joins = False
        """Whether it is read to join the live stream."""
        self.horizon = start
        self.highest = start
        self.window = window
        self.ignored_at: Instant | None = None
        self.rows_at: Instant | None = None
        """When rows arrived last; None if only silence did."""
        self._parameters = parameters
        self._receive_window = receive_window
        self._receive_window_bytes = receive_window_bytes or parameters.receive_window_bytes
        self._unit_ns = unit_ns or parameters.nack_unit_ns
        self._most_units = most_units
        self._most_ready = most_ready
        self.asked_at: Instant | None = None
        self._known = KnowledgeMap()
        self._requests: list[Request] = []
        self._answered_sent_at: Instant = 0
        self._outstanding = IntervalSet()
        self._backed_off_at: Instant = 0
        self._repeated = False
        """Whether a request was repeated since the last answer."""
        self._lost = False
        """Whether one had to be repeated: its first copy was not answered."""
        self._asked_end = start
        """The end of what was requested on the present way to the source."""
        self._round_trip = AnswerRoundTrips(
            minimum=parameters.nack_timeout_min_ns,
            maximum=parameters.nack_timeout_max_ns,
            initial=parameters.nack_timeout_initial_ns,
        )

    def receive(
        self, frame: Frame, now: Instant, origin: AnswerOrigin | None = None
    ) -> list[Frame]:
        """Merge knowledge; returns what became contiguous, in order and exactly once.

        ``origin`` is that of an answer, None for live data.
        """
        if len(frame):
            self.rows_at = now
        if frame.high > self.highest:
            self.highest = frame.high
        if frame.high <= self.horizon:
            return []
        limit = self._receive_limit()
        if frame.low > self.horizon and frame.low >= limit:
            self.ignored_at = now
            return []
        if frame.high > limit:
            self.ignored_at = now
            frame = frame.slice(self.horizon, limit)
        if not len(self._known) and frame.low <= self.horizon:
            ready = [frame.slice(self.horizon, frame.high)]
            self.horizon = frame.high
        else:
            # Frames that are ready already are taken slice by slice, whatever arrives meanwhile.
            interrupted = self.has_ready
            self._known.insert(frame)
            ready = [] if interrupted else self.take_ready()
        if self._requests:
            self._settle(frame, origin, now)
        return ready

    def _receive_limit(self) -> Tick:
        """The end of the receive window at present, in ticks or because it is full."""
        limit = self.horizon + self._receive_window
        if self._known.weight >= self._receive_window_bytes:
            # Knowledge that fills a gap is accepted even now: it lets the horizon advance.
            limit = min(limit, self._known.high or limit)
        return limit

    def continues(self, frame: Frame) -> bool:
        """Whether a frame continues what is held, or is the first to be held.

        A reader that takes live frames only at times would otherwise hold many pieces of the
        stream, and request as many gaps between them.
        """
        held_end = self._known.high
        return held_end is None or frame.low <= held_end

    def take_ready(self) -> list[Frame]:
        """The frames that continue what was returned before, at most ``most_ready`` of them."""
        end = self._known.prefix_end(self.horizon)
        if self._most_ready:
            end = min(end, self._known.end_of(self._most_ready, end))
        if end <= self.horizon:
            return []
        ready = self._known.slice(self.horizon, end)
        self.horizon = end
        self._known.forget_below(end)
        return ready

    @property
    def has_ready(self) -> bool:
        """Whether more frames can be taken already."""
        low = self._known.low
        return low is not None and low <= self.horizon

    def answered(
        self, frame: Frame, *, more: bool, now: Instant, origin: AnswerOrigin | None = None
    ) -> list[Frame]:
        """Merge the answer to a request; returns what became contiguous."""
        origin = origin or HERE
        ready = self.receive(frame, now, origin)
        took = self._took(frame.high, origin, now) if more else None
        round_trip = self._round_trip
        links = round_trip.latest_links if took is None else origin.links
        self.window.answered(
            NackAnswer(
                frame.high - frame.low,
                frame.weight if len(frame) else 0,
                more,
                round_trip.smoothed_ns,
                now,
                round_trip.latest_ns,
                self._repeated,
                took,
                links,
                round_trip.smoothed_over(links),
                self._lost,
            )
        )
        self._repeated = self._lost = False
        if self.filter != LIVE_FILTER:
            self._await_the_rest(now)
        if more:
            self._release_behind(frame.high)
        if self._requests and frame.high > self.horizon:
            self._release_ignored(frame)
        return ready

    def _settle(self, frame: Frame, origin: AnswerOrigin | None, now: Instant) -> None:
        """Remove the requests that a frame answered."""
        still: list[Request] = []
        for request in self._requests:
            if request.low < frame.high and request.high > frame.low:
                if origin is not None:
                    request.answered(origin)
                low = max(request.low, self.horizon)
                if low >= request.high or not self._known.gaps(low, request.high):
                    self._outstanding.remove(request.low, request.high)
                    self._note_answered(request, now)
                    continue
            still.append(request)
        self._requests = still

    def _note_answered(self, request: Request, now: Instant) -> None:
        """A request is answered in full.

        If its ticks were requested only once this is a sample of the round trip, unless the answer
        came at once, from the memory of this broker: that is no way through the network.
        """
        if request.links < 0:
            # Live data, which was late.
            return
        is_late = self._is_late(request, now)
        self._lost = self._lost or (request.attempts > 1 and not is_late)
        if self._round_trip.is_farthest(request.links):
            served_at = request.first_sent_at if is_late else request.took_since
            self._answered_sent_at = max(self._answered_sent_at, served_at)
        if request.attempts == 1 and request.is_new and now > request.sent_at:
            self._round_trip.sample(now - request.took_since, request.links)

    def _is_late(self, request: Request, now: Instant) -> bool:
        """Whether an answer most likely belongs to an earlier copy of a request."""
        usual = self._round_trip.shortest_usual_ns(request.links)
        return request.attempts > 1 and now - request.sent_at < usual

    def _took(self, tick: Tick, origin: AnswerOrigin, now: Instant) -> Duration | None:
        """How long the answer took that stopped at a tick; None if that is no round trip."""
        for request in self._requests:
            if request.low <= tick < request.asked_high:
                is_sample = request.attempts == 1 and now > request.sent_at
                return now - request.sent_at + origin.ahead_ns if is_sample else None
        return None

    def _await_the_rest(self, now: Instant) -> None:
        """The answer to a reader of the past comes piece by piece, in order: it is on its way."""
        deadline = now + self._round_trip.timeout()
        for request in self._requests:
            request.deadline = max(request.deadline, deadline)

    def _release_behind(self, tick: Tick) -> None:
        """Release the units requested together with the one at ``tick``: they are not answered."""
        asked = [r.asked_high for r in self._requests if r.low <= tick < r.asked_high]
        end = max(asked, default=tick)
        still: list[Request] = []
        for request in self._requests:
            if request.high > tick and request.low < end:
                self._outstanding.remove(request.low, request.high)
            else:
                still.append(request)
        self._requests = still
        self._asked_end = min(self._asked_end, tick)

    def _release_ignored(self, frame: Frame) -> None:
        """Release what an answer brought but the receive window had no room for."""
        for low, high in self._known.gaps(max(frame.low, self.horizon), frame.high):
            for request in self._requests:
                if request.low < high and request.high > low:
                    self._outstanding.remove(request.low, request.high)
            self._requests = [r for r in self._requests if r.high <= low or r.low >= high]

    def requests_due(self, now: Instant) -> tuple[Interval, ...]:
        """The requests to send now: new unknown ticks in the NACK window, and overdue ones."""
        due = [request for request in self._requests if now >= self._due_at(request)]
        size = self.window.size_ns
        # A wide window is cut into a bounded number of pieces, so that bookkeeping stays small.
        unit = max(self._unit_ns, size // self._most_units)
        # Whole units only; otherwise the window would slide, and be requested, row by row.
        window_end = max(self.horizon + size, self.horizon + unit) // unit * unit
        limit = min(self.highest, window_end, self._receive_limit())
        if limit > self.horizon:
            for low, high in self._known.gaps(self.horizon, limit):
                for free_low, free_high in self._outstanding.gaps(low, high):
                    due += self._new_requests(free_low, free_high, unit, now)
        return self._sent(due, now) if due else ()

    def _new_requests(self, low: Tick, high: Tick, unit: Duration, now: Instant) -> list[Request]:
        made = []
        self._outstanding.add(low, high)
        while low < high:
            end = min(high, (low // unit + 1) * unit)
            made.append(Request(low, end, end, now, is_new=low >= self._asked_end))
            low = end
        self._asked_end = max(self._asked_end, high)
        self._requests += made
        return made

    def _sent(self, due: list[Request], now: Instant) -> tuple[Interval, ...]:
        self.asked_at = now
        due.sort(key=lambda request: request.low)
        if any(self._is_unanswered(request, now) for request in due):
            self._round_trip.timed_out()
            self._backed_off_at = now
        deadline = now + self._round_trip.timeout()
        groups: list[list[Request]] = []
        for request in due:
            self._repeated = self._repeated or request.attempts > 0
            self._lost = self._lost or request.attempts > 1
            request.attempts += 1
            request.sent_at = now
            request.deadline = deadline
            if groups and groups[-1][-1].high == request.low:
                groups[-1].append(request)
            else:
                groups.append([request])
        for group in groups:
            for request in group:
                request.asked_high = group[-1].high
        return tuple((max(group[0].low, self.horizon), group[-1].high) for group in groups)

    def _is_unanswered(self, request: Request, now: Instant) -> bool:
        """Whether a time-out says something new: those of one moment are one event."""
        overdue = request.attempts > 0 and now >= request.deadline
        return overdue and request.sent_at >= self._backed_off_at

    @property
    def lacks_answers(self) -> bool:
        """Whether a request was repeated twice and is not answered yet.

        The first time-out may have been too short: it is chosen before the round trip is known.
        """
        return any(request.attempts > 2 for request in self._requests)

    def forget_requests(self) -> None:
        """Requests in flight are lost: everything unknown is requested again."""
        self._requests.clear()
        self._outstanding = IntervalSet()
        self._asked_end = self.horizon

    def path_changed(self) -> None:
        """The way to the source is another one."""
        self.forget_requests()
        self._round_trip.path_changed()
        self.window.path_changed()

    def next_deadline(self) -> Instant | None:
        """When a request is overdue."""
        if not self._requests:
            return None
        return min(self._due_at(request) for request in self._requests)

    def _due_at(self, request: Request) -> Instant:
        """When a request is repeated: soon, if one that was sent later has been answered."""
        if request.sent_at < self._answered_sent_at:
            return min(request.deadline, request.sent_at + self._round_trip.usual_timeout())
        return request.deadline

    @property
    def has_gap(self) -> bool:
        """Whether something is known behind ticks that are missing."""
        return self._known.low is not None

    @property
    def weight(self) -> int:
        """Bytes held above the horizon."""
        return self._known.weight

    def check_invariants(self) -> None:
        """Nothing is held that was or should have been returned, nor beyond the receive window."""
        low, high = self._known.low, self._known.high
        lowest = self.horizon if self._most_ready else self.horizon + 1
        if low is not None and low < lowest:
            raise InvariantBroken(f"{self.pubend}: holds {low} at or below {self.horizon}")
        if high is not None and high > self.horizon + self._receive_window:
            raise InvariantBroken(f"{self.pubend}: holds {high} beyond the receive window")
