"""Browsing: shows waiting messages without taking them.

Browsing reads the journal and never the memory of the queue: whatever the length of the queue, it
costs one bounded read.
"""

from __future__ import annotations

import numpy as np

from penstock.content.rows.frame import Frame
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import Selector
from penstock.content.selectors.vectorised import select
from penstock.core.machine import Effect, LinkName, LogRead, Priority, Send
from penstock.core.open_request import OpenRequest
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import Browse, Browsed, RowsEntry
from penstock.services.queues.queue.ready import ReadyRows


class Browser:
    """Answers requests to browse one queue."""

    def __init__(self, journal: Journal, entries: Entries, ready: ReadyRows) -> None:
        self._journal = journal
        self._entries = entries
        self._ready = ready
        self._asked: dict[int, tuple[LinkName, Browse, Selector]] = {}

    def browse(self, session: LinkName, message: Browse, out: list[Effect]) -> None:
        """Order a read of the journal from the requested position on."""
        try:
            selector = parse(message.selector)
        except SelectorError as error:
            out.append(OpenRequest(session, message).answer(problem=str(error)))
            return
        journal = self._journal
        low = max(message.from_position, self._entries.lowest or journal.assigned_end)
        if low >= journal.assigned_end or message.limit <= 0:
            out.append(OpenRequest(session, message).answer())
            return
        token = journal.read(low, journal.assigned_end, out)
        self._asked[token] = (session, message, selector)

    def read(self, fact: LogRead, out: list[Effect]) -> bool:
        """Answer a request whose read has arrived; False if the read was for something else."""
        asked = self._asked.pop(fact.token, None)
        if asked is None:
            return False
        session, request, selector = asked
        out.append(Send(session, self._answer(request, selector, fact), Priority.DATA))
        return True

    def _answer(self, request: Browse, selector: Selector, fact: LogRead) -> Browsed:
        frames: list[Frame] = []
        left = request.limit
        for entry in fact.frames:
            if not isinstance(entry, RowsEntry):
                continue
            low = max(entry.frame.low, request.from_position)
            for part in self._ready.within(entry.priority, low, entry.frame.high):
                chosen = _matching(entry.frame.slice(*part), selector, left)
                if not len(chosen):
                    continue
                frames.append(chosen)
                left -= len(chosen)
                if not left:
                    return self._found(request, frames, int(chosen.ticks[-1]) + 1)
        end = self._journal.assigned_end
        reached = fact.complete_to
        more = reached if request.from_position < reached < end and fact.frames else 0
        return self._found(request, frames, more)

    def _found(self, request: Browse, frames: list[Frame], more: int) -> Browsed:
        found: Browsed = request.answered(tuple(frames), more)
        return found


def _matching(frame: Frame, selector: Selector, limit: int) -> Frame:
    return frame.select(np.flatnonzero(select(selector, frame.batch))[:limit])
