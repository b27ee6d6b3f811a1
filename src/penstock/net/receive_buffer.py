"""Whole frames out of a stream of bytes.

1. The socket writes into one buffer.  It starts small and doubles, up to 512 KB, while reads fill
   it: a busy connection gets many frames out of one read, an idle one costs little memory.
2. A frame is copied out of it once, because batches view the bytes that they were decoded from
   for as long as somebody keeps them.  The copy is exactly as long as the frame, so keeping a
   batch keeps nothing else alive.
3. A frame that is larger than the buffer gets a buffer of its own, which doubles as its bytes
   arrive (an announced length alone reserves nothing) and is handed over without a copy.
4. A frame that announces more than ``max_frame_bytes`` is refused before any of it is stored.
"""

from __future__ import annotations

from typing import Final

from penstock.content.columns import Buffer
from penstock.content.wire import ENVELOPE, MalformedMessage, body_length

FIRST_BUFFER_BYTES: Final = 16 * 1024
"""Holds a few control messages; ten thousand idle connections take 160 MB."""

LARGEST_BUFFER_BYTES: Final = 512 * 1024
"""Reads of this size saturate the loopback; larger ones gain nothing more (PERFORMANCE.md)."""


class ReceiveBuffer:
    """Where the bytes of one connection arrive."""

    __slots__ = ("_begin", "_buffer", "_end", "_needed", "_size_bytes", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int) -> None:
        """``max_frame_bytes`` may be changed at any time; it holds from the next frame on."""
        self.max_frame_bytes = max_frame_bytes
        self._size_bytes = FIRST_BUFFER_BYTES
        self._buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))
        self._begin = 0
        self._end = 0
        self._needed = ENVELOPE.size

    @property
    def held_bytes(self) -> int:
        """How much of an incomplete frame has arrived."""
        return self._end - self._begin

    def room(self) -> memoryview:
        """Where the next bytes go; never empty."""
        return self._buffer[self._end :]

    def received(self, count_bytes: int) -> list[Buffer]:
        """The frames that are whole now that so many bytes were written into ``room()``.

        Raises ``MalformedMessage`` for an envelope that cannot be followed; frames before it are
        lost with it, because the connection is.
        """
        self._end += count_bytes
        was_full = self._end == len(self._buffer)
        frames: list[Buffer] = []
        while self._end - self._begin >= ENVELOPE.size:
            self._needed = self._frame_bytes()
            if self._end - self._begin < self._needed:
                break
            frames.append(self._take())
        self._make_room(was_full=was_full)
        return frames

    def _frame_bytes(self) -> int:
        envelope = self._buffer[self._begin : self._begin + ENVELOPE.size]
        needed = ENVELOPE.size + body_length(envelope)
        if needed > self.max_frame_bytes:
            raise MalformedMessage(
                f"a frame of {needed} bytes was announced and at most {self.max_frame_bytes} are "
                "accepted here; send smaller batches or raise max_frame_bytes"
            )
        return needed

    def _take(self) -> Buffer:
        frame = self._buffer[self._begin : self._begin + self._needed]
        self._begin += self._needed
        self._needed = ENVELOPE.size
        if len(self._buffer) > LARGEST_BUFFER_BYTES:
            # The frame's own buffer, filled to the last byte: nothing else is in it.
            return frame.toreadonly()
        return bytes(frame)

    def _make_room(self, *, was_full: bool) -> None:
        held = self._end - self._begin
        if len(self._buffer) > LARGEST_BUFFER_BYTES and not held:
            self._replace(self._size_bytes)
        elif self._needed > LARGEST_BUFFER_BYTES:
            if self._begin or self._end == len(self._buffer):
                self._replace(min(self._needed, max(2 * held, 2 * LARGEST_BUFFER_BYTES)))
        elif was_full and self._size_bytes < LARGEST_BUFFER_BYTES:
            self._size_bytes *= 2
            while self._size_bytes < self._needed:
                self._size_bytes *= 2
            self._replace(self._size_bytes)
        elif not held:
            self._begin = self._end = 0
        elif self._begin + self._needed > len(self._buffer):
            self._buffer[:held] = self._buffer[self._begin : self._end]
            self._begin, self._end = 0, held

    def _replace(self, size_bytes: int) -> None:
        """Go on in a fresh buffer; the old one may still be viewed."""
        held = self._end - self._begin
        fresh = memoryview(bytearray(size_bytes))
        fresh[:held] = self._buffer[self._begin : self._end]
        self._buffer = fresh
        self._begin, self._end = 0, held
