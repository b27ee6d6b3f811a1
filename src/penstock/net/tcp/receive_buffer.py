"""Splits a stream of bytes into complete frames.

1. The socket writes into one common buffer.  It starts small and doubles, up to 512 KB, while reads
   fill it: a busy connection gets many frames from one read, an idle one costs little memory.
2. A small frame is copied out of the common buffer once, because a decoded batch references the
   bytes of its frame as long as the batch lives.  The copy is exactly as long as the frame, so a
   batch keeps no other memory alive.
3. A frame that is larger than ``OWN_BUFFER_BYTES`` gets a buffer of its own, which doubles as its
   bytes arrive (an announced length alone reserves little) and is handed over without a copy.
4. Large frames often come in sequence.  After one, the next read takes only enough bytes to learn
   the length of the next frame, so that a large frame is received directly into its own buffer.
5. A frame that announces more than ``max_frame_bytes`` is refused before any of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from penstock.content.codec.envelope import ENVELOPE, body_length
from penstock.content.codec.malformed import MalformedMessage
from penstock.content.rows.columns import Buffer

FIRST_BUFFER_BYTES: Final = 16 * 1024
"""Holds a few control messages; ten thousand idle connections take 160 MB."""

LARGEST_BUFFER_BYTES: Final = 512 * 1024
"""Reads of this size saturate the loopback; larger ones gain nothing more (PERFORMANCE.md)."""

OWN_BUFFER_BYTES: Final = 128 * 1024
"""Frames above this get a buffer of their own.  One more read costs less than copying them."""

PEEK_BYTES: Final = 4 * 1024
"""The size of the read after a large frame: fits an envelope, and most control messages whole."""


class ReceiveBuffer:
    """Receives the bytes of one connection."""

    __slots__ = (
        "_begin",
        "_common",
        "_end",
        "_needed",
        "_on_own",
        "_own",
        "_peeking",
        "max_frame_bytes",
    )

    def __init__(self, max_frame_bytes: int, on_own: Callable[[int], None] | None = None) -> None:
        """``max_frame_bytes`` may be changed at any time; it applies from the next frame on.

        ``on_own`` receives the size of a large frame's own buffer; 0 when the frame is complete.
        """
        self.max_frame_bytes = max_frame_bytes
        self._on_own = on_own
        self._common = _memory(FIRST_BUFFER_BYTES)
        self._own: memoryview | None = None
        self._begin = 0
        self._end = 0
        self._needed = ENVELOPE.size
        self._peeking = False

    @property
    def held_bytes(self) -> int:
        """How much of an incomplete frame has arrived."""
        return self._end - self._begin

    def room(self) -> memoryview:
        """The memory for the next bytes; never empty."""
        if self._own is not None:
            return self._own[self._end :]
        if self._peeking:
            return self._common[self._end : self._end + PEEK_BYTES]
        return self._common[self._end :]

    def received(self, count_bytes: int) -> list[Buffer]:
        """Return the frames completed by ``count_bytes`` bytes that were written into ``room()``.

        Raises ``MalformedMessage`` for an invalid envelope; frames of the same read before it are
        lost, because the connection ends.
        """
        self._end += count_bytes
        if self._own is not None:
            return self._received_own(self._own)
        was_full = self._end == len(self._common)
        frames: list[Buffer] = []
        while self._end - self._begin >= ENVELOPE.size:
            self._needed = self._frame_bytes()
            self._peeking = False
            if self._end - self._begin < self._needed:
                break
            frames.append(bytes(self._common[self._begin : self._begin + self._needed]))
            self._begin += self._needed
            self._needed = ENVELOPE.size
        self._make_room(was_full=was_full)
        return frames

    def _frame_bytes(self) -> int:
        envelope = self._common[self._begin : self._begin + ENVELOPE.size]
        needed = ENVELOPE.size + body_length(envelope)
        if needed > self.max_frame_bytes:
            raise MalformedMessage(
                f"a frame of {needed} bytes was announced and at most {self.max_frame_bytes} are "
                "accepted here; send smaller batches or raise max_frame_bytes"
            )
        return needed

    def _received_own(self, own: memoryview) -> list[Buffer]:
        """Continue a large frame, and hand it over when it is complete."""
        if self._end == self._needed:
            self._own = None
            self._begin = self._end = 0
            self._needed = ENVELOPE.size
            self._peeking = True
            if self._on_own is not None:
                self._on_own(0)
            # The frame fills the buffer exactly.
            return [own.toreadonly()]
        if self._end == len(own):
            self._give_own(own, 2 * self._end)
        return []

    def _give_own(self, source: memoryview, size_bytes: int) -> None:
        """Continue the incomplete frame in a buffer of its own, or in a larger one."""
        held = self._end - self._begin
        own = _memory(min(self._needed, max(size_bytes, 2 * LARGEST_BUFFER_BYTES)))
        own[:held] = source[self._begin : self._end]
        self._own = own
        self._begin, self._end = 0, held
        if self._on_own is not None:
            self._on_own(len(own))

    def _make_room(self, *, was_full: bool) -> None:
        held = self._end - self._begin
        size = len(self._common)
        if self._needed > OWN_BUFFER_BYTES:
            self._give_own(self._common, 2 * held)
        elif was_full and size < LARGEST_BUFFER_BYTES:
            size *= 2
            while size < self._needed:
                size *= 2
            common = _memory(size)
            common[:held] = self._common[self._begin : self._end]
            self._common = common
            self._begin, self._end = 0, held
        elif not held:
            self._begin = self._end = 0
        elif self._begin + self._needed > size:
            self._common[:held] = self._common[self._begin : self._end]
            self._begin, self._end = 0, held


def _memory(size_bytes: int) -> memoryview:
    """Allocate memory without clearing it, since only received bytes are read."""
    return np.empty(size_bytes, np.uint8).data
