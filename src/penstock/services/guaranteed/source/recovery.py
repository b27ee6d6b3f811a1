"""What a pubend does after a start: it reads the end of its log to complete its table of producers.

1. The table was saved with the tick up to which it is right.  The log is read from there on, a
   bounded piece at a time.
2. Until that is done the pubend is not ready: it could not recognise repeats, so publications wait
   and requests are not answered.
3. Where a new stream begins is saved before anything else: readers may learn it before anything is
   logged, and after a crash a later beginning would look like a loss to them.
"""

from __future__ import annotations

from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LogRead, PersistState, ReadLog
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import SequenceTable


class Recovery:
    """The reading of one log after a start."""

    def __init__(
        self,
        log: str,
        beginning_key: str,
        producers: SequenceTable,
        tokens: Tokens,
        *,
        read_from: Tick,
        is_new: bool,
        piece_bytes: int,
    ) -> None:
        """The table is complete up to ``read_from``."""
        self.ready = True
        """Whether the table is complete, so that repeats are recognised."""
        self._log = log
        self._beginning_key = beginning_key
        self._producers = producers
        self._instances = producers.instances
        self._tokens = tokens
        self._read_from = read_from
        self._is_new = is_new
        self._piece_bytes = piece_bytes
        self._token: int | None = None

    def start(self, beginning: Tick, end: Tick) -> list[Effect]:
        """Save where a new stream begins, or begin to read the log up to its end."""
        if self._is_new:
            token = self._tokens.take(self._log)
            return [PersistState(token, {self._beginning_key: beginning.to_bytes(8, "big")})]
        if self._read_from >= end:
            return []
        return [self._read(end)]

    def _read(self, end: Tick) -> ReadLog:
        self.ready = False
        self._token = self._tokens.take(self._log)
        return ReadLog(self._token, self._log, self._read_from, end, self._piece_bytes)

    def ordered(self, token: int) -> bool:
        """Whether a read was ordered here."""
        return token == self._token

    def log_read(self, fact: LogRead, end: Tick) -> list[Effect]:
        """Take a piece of the log into the table, and order the next one unless that was the end.

        The producers of rows that the disk lost are unknown: a repeat of such rows is stored again,
        and no reader gets them twice.
        """
        for entry in fact.frames:
            # An entry without a producer records silence.
            if entry.producer and entry.frame.low >= self._read_from:
                self._producers.add(entry.producer, entry.first_sequence, len(entry.frame))
                self._instances.note(entry.producer, entry.instance)
        self._read_from = max(self._read_from, fact.complete_to)
        if fact.complete_to < end:
            return [self._read(end)]
        self._token = None
        self.ready = True
        return []
