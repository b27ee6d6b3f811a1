"""Splits a stream of bytes into frames, for protocols with a binary head."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Frame: TypeAlias = tuple[int, bytes]
"""The kind of a frame, and its content."""

Locate: TypeAlias = Callable[[bytes, int], tuple[int, int, int, int]]
"""Given the bytes and the position of a head: the frame's kind, the begin and end of its content,
and the begin of the next frame."""


class FrameReader:
    """Takes bytes as they arrive and returns complete frames."""

    def __init__(self, head_bytes: int, locate: Locate) -> None:
        """``locate`` needs ``head_bytes``."""
        self._head_bytes = head_bytes
        self._locate = locate
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now."""
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
