"""A stream as it passes through a broker: forwarding, caching, consolidating requests.

1. Live knowledge goes to every child whose registration is confirmed, filtered for that child; a
   frame of which no row is dropped is forwarded as the bytes that arrived.  The edge of the same
   broker gets it whole, since it matches every row against its subscribers anyway.
2. The latest live knowledge is cached, up to a bound.
3. A request is answered from the cache as far as the cache is complete for the requester; the rest
   goes up once for all children that wait for the same or for less, and goes up again only after
   ``nack_suppression_ns``.  What goes up names the selectors that wait (``request_filter``).  A
   reader of the past gets at most ``answer_frames`` frames of the cache and asks again.
4. An answer from above goes only to the children that wait for it, filtered for each of them.  A
   request that named a selector is answered for that selector alone.  Every answer says over how
   many links it came, and how long it was under way when the child began to wait for it
   (``laws/answer_round_trips``).
5. Answers for children that recover are kept for the others (``answer_cache``).
6. Silence is joined before it is sent (``joined_silence``).
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.rows.frame import Frame, fold_silence
from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.machine import YIELDING, Effect, LinkName, Priority, Send
from penstock.services.guaranteed.laws.answer_round_trips import HERE, AnswerOrigin
from penstock.services.guaranteed.links import LOCAL_EDGE
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    DownstreamCongestionQuery,
    Knowledge,
    Nack,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.alert_aggregation import AlertAggregation
from penstock.services.guaranteed.relay.answer_cache import AnswerCache
from penstock.services.guaranteed.relay.cache import RelayCache
from penstock.services.guaranteed.relay.joined_silence import JoinedSilence
from penstock.services.guaranteed.relay.registration import LinkRegistration, Registrations
from penstock.services.guaranteed.relay.request_filter import (
    filtered,
    includes,
    parts_of,
    union_of,
)

MAX_WAITING_REQUESTS: Final = 100_000
"""How many outstanding requests a relay remembers; the rest is dropped, and repeated later."""


class _Waiting(msgspec.Struct, frozen=True):
    """A child that waits for an interval."""

    link: LinkName
    low: Tick
    high: Tick
    filter: str
    """The filter that the child named; its answer repeats it."""

    asked: str
    """The filter that was named to the parent, where the answer comes from."""

    recovers: bool
    """Whether the child recovers a live stream, as others may; a reader of the past is alone."""

    joins: bool
    """Whether a reader of the past will join the live stream."""

    since: Instant
    """When the child asked."""

    asked_at: Instant
    """When the request was sent that brings the answer: before the child asked, if it was another
    child's."""


class RelayStream:
    """One pubend's stream at one broker."""

    def __init__(
        self,
        pubend: str,
        registrations: Registrations,
        parameters: GuaranteedParameters,
        *,
        position: Tick = 0,
        kept_answers_bytes: int = 0,
    ) -> None:
        """``position`` is the end of what was received live so far.

        ``kept_answers_bytes`` bounds the answers that are kept for others.
        """
        self.pubend = pubend
        self._answers_flow = f"{pubend}/answers"
        self._joining_flow = f"{pubend}/joining"
        self._past_flow = f"{pubend}{YIELDING}"
        self.position = position
        self._registrations = registrations
        self._links = registrations.links
        self._parameters = parameters
        self._cache = RelayCache(parameters.relay_cache_bytes)
        self._answers = AnswerCache(kept_answers_bytes)
        self._waiting: list[_Waiting] = []
        self._asked: dict[str, IntervalSet] = {}
        self._asked_forget_at: Instant = 0
        self._silence = JoinedSilence(parameters.silence_interval_ns)
        self.alerts = AlertAggregation()

    def live(self, frame: Frame, now: Instant, out: list[Effect]) -> None:
        """Forward live knowledge from above to all children."""
        self.position = max(self.position, frame.high)
        self._cache.add(frame)
        whole = Knowledge(self.pubend, frame)
        for link, registration in self._links.items():
            if not registration.confirmed:
                continue
            start = registration.live_from.get(self.pubend, 0)
            if frame.high <= start:
                continue
            part = frame if frame.low >= start else frame.slice(start, frame.high)
            if link == LOCAL_EDGE:
                self._tell(link, whole if part is frame else Knowledge(self.pubend, part), out)
                continue
            for told in self._for_neighbour(link, registration, part, now):
                self._tell(link, whole if told is frame else Knowledge(self.pubend, told), out)

    def _for_neighbour(
        self, link: LinkName, registration: LinkRegistration, frame: Frame, now: Instant
    ) -> list[Frame]:
        """What a neighbour is told of a live frame."""
        if not len(frame.ticks):
            return self._silence.joined(link, frame)
        wanted = frame.select(registration.index.match_any(frame.batch))
        if len(wanted.ticks):
            return self._silence.joined(link, wanted)
        return self._silence.filtered(link, wanted, now)

    def request(self, link: LinkName, nack: Nack, now: Instant, out: list[Effect]) -> Nack | None:
        """A child's request; returns the request to send up, if any."""
        registration = self._links.get(link)
        if registration is None or len(self._waiting) >= MAX_WAITING_REQUESTS:
            return None
        if nack.filter == LIVE_FILTER:
            selectors = registration.selectors
            asked = union_of(selectors)
        else:
            selectors = list(parts_of(nack.filter))
            asked = nack.filter
        complete = self._registrations.complete_since(selectors, self.pubend)
        upward: list[Interval] = []
        for low, high in nack.intervals:
            missing = [(low, min(high, complete))] if low < complete else []
            if high > complete:
                most = 0 if nack.recovers else self._parameters.answer_frames
                start = max(low, complete)
                found, gaps, end = self._cache.find(start, high, most, nack.max_bytes)
                missing += gaps
                chosen = [self._chosen(registration, nack.filter, frame) for frame in found]
                frames = fold_silence(chosen)
                for number, frame in enumerate(frames, 1):
                    more = end < high and number == len(frames)
                    answer = Knowledge(self.pubend, frame, nack.filter, more, HERE)
                    self._answer(link, answer, nack, out)
            if nack.recovers:
                missing = self._answered_before(link, nack, asked, missing, out)
                missing = self._wait_with_others(link, nack, asked, missing, now)
            for part in missing:
                upward += self._ask_for(link, nack, asked, part, now)
        if not upward:
            return None
        return Nack(self.pubend, tuple(upward), asked, nack.max_bytes, nack.recovers, nack.joins)

    def _ask_for(
        self, link: LinkName, nack: Nack, asked: str, part: Interval, now: Instant
    ) -> list[Interval]:
        """Let a child wait for an interval; returns what of it must be requested."""
        under_way = self._under_way(asked, part, now)
        through = under_way or asked
        upward = self._suppressed(asked, part) if under_way is None else []
        asked_at = now if upward == [part] else self._asked_at(through, part, now)
        self._wait(
            _Waiting(link, *part, nack.filter, through, nack.recovers, nack.joins, now, asked_at)
        )
        return upward

    def _asked_at(self, asked: str, interval: Interval, now: Instant) -> Instant:
        """When the first part of an interval was requested that somebody waits for."""
        low, high = interval
        return min(
            (
                waiting.asked_at
                for waiting in self._waiting
                if waiting.asked == asked and waiting.low < high and waiting.high > low
            ),
            default=now,
        )

    def _answered_before(
        self,
        link: LinkName,
        nack: Nack,
        asked: str,
        missing: list[Interval],
        out: list[Effect],
    ) -> list[Interval]:
        """Answer with what others were given before; returns what is still missing."""
        rest: list[Interval] = []
        registration = self._links[link]
        for part in missing:
            found, gaps = self._answers.find(asked, part)
            chosen = [self._chosen(registration, nack.filter, frame) for frame in found]
            for frame in fold_silence(chosen):
                answer = Knowledge(self.pubend, frame, nack.filter, origin=HERE)
                self._answer(link, answer, nack, out)
            rest += gaps
        return rest

    def _wait_with_others(
        self, link: LinkName, nack: Nack, asked: str, missing: list[Interval], now: Instant
    ) -> list[Interval]:
        """Wait for what other children wait for already; returns what is still missing.

        However long the answer takes, it is on its way: only the child that asked first repeats
        the request.  A child that asks for the second time is not held back by the others.
        """
        under_way: dict[str, IntervalSet] = {}
        own = IntervalSet()
        for waiting in self._waiting:
            if waiting.link == link:
                own.add(waiting.low, waiting.high)
            elif waiting.recovers and includes(waiting.asked, asked):
                under_way.setdefault(waiting.asked, IntervalSet()).add(waiting.low, waiting.high)
        for filter_text, ticks in under_way.items():
            rest: list[Interval] = []
            for low, high in missing:
                at = low
                for part_low, part_high in ticks.within(low, high):
                    if not own.gaps(part_low, part_high):
                        continue
                    rest += [(at, part_low)] if at < part_low else []
                    at = part_high
                    part = (part_low, part_high)
                    asked_at = self._asked_at(filter_text, part, now)
                    self._wait(
                        _Waiting(link, *part, nack.filter, filter_text, True, False, now, asked_at)
                    )
                rest += [(at, high)] if at < high else []
            missing = rest
        return missing

    def _wait(self, new: _Waiting) -> None:
        for waiting in self._waiting:
            if (
                waiting.link == new.link
                and waiting.filter == new.filter
                and waiting.asked == new.asked
                and waiting.low <= new.low
                and waiting.high >= new.high
            ):
                return
        self._waiting.append(new)

    def _under_way(self, filter_text: str, interval: Interval, now: Instant) -> str | None:
        """The filter under which the whole interval was requested recently, if it was."""
        if now >= self._asked_forget_at:
            self._asked_forget_at = now + self._parameters.nack_suppression_ns
            self._asked.clear()
        for asked_filter, asked in self._asked.items():
            if not asked.gaps(*interval) and includes(asked_filter, filter_text):
                return asked_filter
        return None

    def _suppressed(self, filter_text: str, interval: Interval) -> list[Interval]:
        """The parts of an interval that were not requested recently."""
        asked = self._asked.setdefault(filter_text, IntervalSet())
        parts = asked.gaps(*interval)
        for low, high in parts:
            asked.add(low, high)
        return parts

    def answered(
        self,
        frame: Frame,
        filter_text: str,
        *,
        more: bool,
        out: list[Effect],
        origin: AnswerOrigin = HERE,
    ) -> None:
        """Give an answer from above, or from the log at the source, to the children that wait."""
        asked = self._asked.get(filter_text)
        if asked is not None:
            asked.remove(frame.low, frame.high)
        still: list[_Waiting] = []
        recovers = False
        for waiting in self._waiting:
            overlaps = waiting.low < frame.high and waiting.high > frame.low
            if waiting.asked != filter_text or not overlaps:
                still.append(waiting)
                continue
            recovers = recovers or waiting.recovers
            registration = self._links.get(waiting.link)
            unfinished = more and waiting.high > frame.high
            if unfinished and asked is not None:
                # The rest is not in flight any more, and is about to be requested again.
                asked.remove(frame.high, waiting.high)
            if registration is not None:
                part = frame.slice(waiting.low, waiting.high)
                part = self._chosen(registration, waiting.filter, part)
                told = origin.for_one_who_came_later(waiting.since - waiting.asked_at)
                message = Knowledge(self.pubend, part, waiting.filter, unfinished, told)
                self._answer(waiting.link, message, waiting, out)
            still += self._rest(waiting, frame, more=more)
        self._waiting = still
        if recovers and len(self._links) > 1:
            self._answers.add(filter_text, frame)

    def _rest(self, waiting: _Waiting, frame: Frame, *, more: bool) -> list[_Waiting]:
        """What a child still waits for after a frame."""
        rest = []
        if waiting.low < frame.low:
            rest.append(msgspec.structs.replace(waiting, high=frame.low))
        if waiting.high > frame.high and not more:
            rest.append(msgspec.structs.replace(waiting, low=frame.high))
        return rest

    def _chosen(self, registration: LinkRegistration, filter_text: str, frame: Frame) -> Frame:
        """The rows of a frame that the requester wants."""
        if not len(frame):
            return frame
        if filter_text == LIVE_FILTER:
            return frame.select(registration.index.match_any(frame.batch))
        return filtered(filter_text, frame)

    def _tell(self, link: LinkName, message: Knowledge, out: list[Effect]) -> None:
        out.append(Send(link, message, Priority.DATA, self.pubend))

    def _answer(
        self, link: LinkName, message: Knowledge, reader: Nack | _Waiting, out: list[Effect]
    ) -> None:
        """Answers do not delay live data, and those that read the past alone yield to everything.

        A reader that will join the live stream waits for messages like everybody else: its answers
        are a flow like any other.
        """
        flow = self._joining_flow if reader.joins else self._past_flow
        if reader.recovers:
            flow = self._answers_flow
        out.append(Send(link, message, Priority.DATA, flow))

    def query(self, query: DownstreamCongestionQuery, out: list[Effect]) -> None:
        """Send a pubend's congestion query to every child."""
        for link, registration in self._links.items():
            if registration.confirmed:
                out.append(Send(link, query, Priority.CONTROL))

    def forget_link(self, link: LinkName) -> None:
        """The child behind this link does not wait any more."""
        self._silence.forget(link)
        self._waiting = [waiting for waiting in self._waiting if waiting.link != link]

    def registration_changes(self, link: LinkName, out: list[Effect]) -> None:
        """A child is about to want something else: say what was silent for it until now."""
        frame = self._silence.take(link)
        if frame is not None:
            self._tell(link, Knowledge(self.pubend, frame), out)

    def forget_requests(self) -> None:
        """The way up has changed: requests in flight are lost."""
        self._asked.clear()

    @property
    def cache_bytes(self) -> int:
        """The bytes in the cache."""
        return self._cache.weight
