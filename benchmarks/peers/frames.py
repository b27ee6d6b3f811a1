"""Frames out of a stream of bytes that comes in pieces, for protocols with a binary head."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Frame: TypeAlias = tuple[int, bytes]
"""What kind it is, and what it says."""

Locate: TypeAlias = Callable[[bytes, int], tuple[int, int, int, int]]
"""From the bytes and where a head stands in them: the frame's kind, where what it says begins and
ends, and where the next frame begins."""


class FrameReader:
    """Takes bytes as they come and gives whole frames."""

    def __init__(self, head_bytes: int, locate: Locate) -> None:
        """``head_bytes`` are enough for ``locate``."""
        self._head_bytes = head_bytes
        self._locate = locate
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole now."""
        data = self._rest + data
        at = 0
        frames = []
        while len(data) - at >= self._head_bytes:
            kind, begin, end, following = self._locate(data, at)
            if len(data) < following:
                break
            frames.append((kind, data[begin:end]))
            at = following
        self._rest = data[at:]
        return frames
