"""The size of a message in the stream profile, without encoding its rows."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.content.codec.envelope import ENVELOPE, LENGTH_BYTES
from penstock.content.codec.markers import TICK_BYTES, marker_of
from penstock.content.rows.batch import Batch
from penstock.content.rows.layout import padded
from penstock.core.message import Message


class SizeMeter:
    """Tells how many bytes ``stream.encode`` would give.

    The last message is remembered, since a broker sends the same one to several children.
    """

    __slots__ = ("_attached", "_attached_bytes", "_encoder", "_last", "_last_size")

    def __init__(self) -> None:
        self._attached = 0
        self._attached_bytes = 0
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._measure)
        self._last: Message | None = None
        self._last_size = 0

    def size(self, message: Message) -> int:
        """The number of bytes of a message on the wire."""
        if message is self._last:
            return self._last_size
        self._attached = self._attached_bytes = 0
        head = len(self._encoder.encode(message))
        lead = padded(head) + padded(LENGTH_BYTES * self._attached)
        self._last = message
        self._last_size = ENVELOPE.size + lead + self._attached_bytes
        return self._last_size

    def _measure(self, value: Any) -> Any:
        if isinstance(value, Batch):
            self._attached += 1
            self._attached_bytes += padded(value.wire_size)
            return len(value)
        marker = marker_of(value)
        if marker.rows:
            self._attached += 1
            self._attached_bytes += padded(value.batch.wire_size)
            if not marker.dense:
                self._attached += 1
                self._attached_bytes += TICK_BYTES * marker.rows
        return marker


def encoded_size(message: Message) -> int:
    """The number of bytes of one message on the wire."""
    return SizeMeter().size(message)


_value_encoder = msgspec.msgpack.Encoder()


def value_size(value: Any) -> int:
    """The number of bytes of a value inside the head of a message."""
    return len(_value_encoder.encode(value))
