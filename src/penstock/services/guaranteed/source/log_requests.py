"""Answers requests for old ticks (NACKs) from a pubend's log.

1. A request is answered up to the end of what was spoken of, a bounded piece at a time; the answer
   says whether there is more.
2. The answer is contiguous: what the log does not mention is silence.
3. Ticks that the log no longer holds are answered as final: trimmed ones, and those that the disk
   can no longer read.  Damaged intervals stay known until they are trimmed.
"""

from __future__ import annotations

from penstock.content.rows.frame import Frame
from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.machine import LogRead, ReadLog
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.parameters import GuaranteedParameters


class LogAnswer:
    """The requested piece of the log: unfiltered frames, contiguous and in order."""

    __slots__ = ("filter", "frames", "more")

    def __init__(self, frames: list[Frame], filter_text: str, *, more: bool) -> None:
        self.frames = frames
        self.filter = filter_text
        self.more = more


class LogRequests:
    """The requests that wait for the store."""

    def __init__(self, log: str, parameters: GuaranteedParameters, tokens: Tokens) -> None:
        self.lost = IntervalSet()
        """The ticks that the disk can no longer read."""
        self._log = log
        self._parameters = parameters
        self._tokens = tokens
        self._reads: dict[int, tuple[Interval, str]] = {}

    def read(
        self, low: Tick, high: Tick, filter_text: str, max_bytes: int, *, recovers: bool = False
    ) -> ReadLog:
        """Order what was requested, at most ``max_bytes`` of it unless that is 0.

        A reader of the past gets a bounded number of frames as well, unlike one that ``recovers``.
        """
        token = self._tokens.take(self._log)
        self._reads[token] = ((low, high), filter_text)
        parameters = self._parameters
        if recovers:
            most = min(max_bytes or parameters.answer_bytes, parameters.answer_bytes)
            return ReadLog(token, self._log, low, high, most)
        if max_bytes > 0:
            most = min(max_bytes, parameters.local_answer_bytes)
            return ReadLog(token, self._log, low, high, most, parameters.answer_frames)
        return ReadLog(token, self._log, low, high, parameters.answer_bytes)

    def answer(self, fact: LogRead, log_start: Tick) -> LogAnswer:
        """The answer to a request, from what the store has read."""
        (low, high), filter_text = self._reads.pop(fact.token)
        end = min(fact.complete_to, high)
        frames: list[Frame] = []
        at = low
        kept_from = max(log_start, fact.complete_from)
        if low < kept_from:
            at = min(kept_from, end)
            frames.append(Frame(low, at, final=True))
        entries = [entry.frame for entry in fact.frames]
        for lost_low, lost_high in self._lost_of(fact, at, end):
            entries = spell_out(entries, at, lost_low, frames)
            frames.append(Frame(lost_low, lost_high, final=True))
            at = lost_high
        spell_out(entries, at, end, frames)
        return LogAnswer(frames, filter_text, more=end < high)

    def _lost_of(self, fact: LogRead, low: Tick, high: Tick) -> list[Interval]:
        if not fact.lost:
            return []
        self.note_lost(fact)
        return self.lost.within(low, high)

    def note_lost(self, fact: LogRead) -> None:
        """Remember what the disk can no longer read."""
        for interval in fact.lost:
            self.lost.add(*interval)

    def trimmed(self, below: Tick) -> None:
        """Damage below this tick does not matter any more."""
        self.lost.remove(0, below)


def spell_out(entries: list[Frame], low: Tick, high: Tick, frames: list[Frame]) -> list[Frame]:
    """Append what stored frames say of ``[low, high)``; returns those that reach beyond it."""
    at = low
    for entry in entries:
        part = entry.slice(at, high)
        if len(part):
            # Silence before the rows travels with them.
            frames.append(Frame(at, part.high, part.ticks, part.batch))
            at = part.high
    if at < high:
        frames.append(Frame(at, high))
    return [entry for entry in entries if entry.high > high]
