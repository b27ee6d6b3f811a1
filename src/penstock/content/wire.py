"""Messages as bytes, and back.

One envelope carries every message of every service, little-endian:

1. 24 bytes: magic, version, number of attachments, length of the head, length of everything that
   follows the envelope, checksum over those, the head and the attachment table;
2. the head: the message as MessagePack, with a small marker where a batch or a frame stands;
3. the attachment table: the length of each attachment;
4. the attachments, each padded to eight bytes: tick columns and blocks, untouched.

A block has its own checksum, computed by the publisher and checked where it is read, so a relay
that forwards a frame neither copies nor re-computes anything but the head.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from penstock.content.batch import Batch
from penstock.content.block import MalformedBlock, padded
from penstock.content.columns import Buffer
from penstock.content.frame import NO_ROWS, Frame, Ticks
from penstock.core.message import Message

MAGIC: Final = 0x5053  # "SP": the first two bytes of every frame on the wire
WIRE_VERSION: Final = 1
PREAMBLE: Final = struct.Struct("<HBBIQ")
CHECKSUM: Final = struct.Struct("<Q")
ENVELOPE: Final = struct.Struct("<HBBIQQ")

MAX_ATTACHMENTS: Final = 255

M = TypeVar("M", bound=Message)


class MalformedMessage(ValueError):
    """These bytes are not a message of this protocol."""


class _Marker(msgspec.Struct, frozen=True, array_like=True):
    """Stands for a frame in a head: its interval, and how its ticks and rows are attached."""

    low: int
    high: int
    final: bool
    first_tick: int
    rows: int
    dense: bool


def encode(message: Message) -> list[Buffer]:
    """The message as pieces to be written one after another."""
    attachments: list[Buffer] = []

    def attach(value: Any) -> Any:
        if isinstance(value, Frame):
            return _marker(value, attachments)
        if isinstance(value, Batch):
            attachments.append(value.encode())
            return len(value)
        raise TypeError(f"{type(value).__name__} cannot travel in a message")

    head = _encoder(attach).encode(message)
    return _envelope(head, attachments)


def _encoder(hook: Any) -> msgspec.msgpack.Encoder:
    return msgspec.msgpack.Encoder(enc_hook=hook)


def _marker(frame: Frame, attachments: list[Buffer]) -> _Marker:
    rows, ticks = len(frame), frame.ticks
    dense = isinstance(ticks, range)
    if rows:
        if not dense:
            attachments.append(frame.tick_array().tobytes())
        attachments.append(frame.batch.encode())
    first = int(ticks[0]) if rows else 0
    return _Marker(frame.low, frame.high, frame.final, first, rows, dense)


def _envelope(head: bytes, attachments: list[Buffer]) -> list[Buffer]:
    table = struct.pack(f"<{len(attachments)}I", *map(len, attachments))
    lead = head + bytes(-len(head) & 7) + table + bytes(-len(table) & 7)
    length = len(lead) + sum(padded(len(each)) for each in attachments)
    envelope = PREAMBLE.pack(MAGIC, WIRE_VERSION, len(attachments), len(head), length)
    checksum = xxh3_64_intdigest(envelope + lead)
    pieces: list[Buffer] = [envelope + CHECKSUM.pack(checksum) + lead]
    for each in attachments:
        pieces.append(each)
        padding = -len(each) & 7
        if padding:
            pieces.append(bytes(padding))
    return pieces


class SizeMeter:
    """Tells how many bytes ``encode`` would give, without encoding any rows.

    The last message is remembered, since a broker sends the same one to several children.
    """

    __slots__ = ("_attached", "_attached_bytes", "_encoder", "_last", "_last_size")

    def __init__(self) -> None:
        """Nothing was measured."""
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
        table = padded(4 * self._attached)
        self._last = message
        self._last_size = ENVELOPE.size + padded(head) + table + self._attached_bytes
        return self._last_size

    def _measure(self, value: Any) -> Any:
        if isinstance(value, Batch):
            self._attached += 1
            self._attached_bytes += padded(value.wire_size)
            return len(value)
        ticks = value.ticks
        rows = len(ticks)
        dense = isinstance(ticks, range)
        if rows:
            self._attached += 1 if dense else 2
            self._attached_bytes += padded(value.batch.wire_size) + (0 if dense else 8 * rows)
        first = int(ticks[0]) if rows else 0
        return _Marker(value.low, value.high, value.final, first, rows, dense)


def encoded_size(message: Message) -> int:
    """The number of bytes of one message on the wire."""
    return SizeMeter().size(message)


def body_length(envelope: Buffer) -> int:
    """How many bytes follow this envelope; raises ``MalformedMessage``."""
    magic, version, _, _, length, _ = ENVELOPE.unpack_from(envelope)
    if magic != MAGIC:
        raise MalformedMessage("not a Penstock message: the first two bytes are wrong")
    if version != WIRE_VERSION:
        raise MalformedMessage(f"protocol version {version}; this program speaks {WIRE_VERSION}")
    return int(length)


class Decoder(Generic[M]):
    """Reads the messages of one union of types."""

    def __init__(self, message_types: Iterable[type[M]]) -> None:
        """Only these types are accepted."""
        union: Any = None
        for each in message_types:
            union = each if union is None else union | each
        self._attachments: list[memoryview] = []
        self._next = 0
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(
            union, dec_hook=self._detach
        )

    def decode(self, data: Buffer) -> M:
        """One whole message, envelope included; raises ``MalformedMessage``."""
        view = memoryview(data)
        if len(view) < ENVELOPE.size:
            raise MalformedMessage(f"{len(view)} bytes are too few for a message")
        _, _, count, head_length, _, checksum = ENVELOPE.unpack_from(view)
        if body_length(view) != len(view) - ENVELOPE.size:
            raise MalformedMessage("the length in the envelope does not fit")
        table_at = ENVELOPE.size + padded(head_length)
        at = table_at + padded(4 * count)
        if at > len(view):
            raise MalformedMessage("the head is longer than the message")
        checked = bytes(view[: PREAMBLE.size]) + bytes(view[ENVELOPE.size : at])
        if xxh3_64_intdigest(checked) != checksum:
            raise MalformedMessage("the message's checksum does not fit its bytes")
        self._attachments = []
        self._next = 0
        for size in struct.unpack_from(f"<{count}I", view, table_at):
            if at + padded(size) > len(view):
                raise MalformedMessage("an attachment runs over the end of the message")
            self._attachments.append(view[at : at + size])
            at += padded(size)
        try:
            message = self._decoder.decode(view[ENVELOPE.size : ENVELOPE.size + head_length])
        except (msgspec.MsgspecError, MalformedBlock, UnicodeDecodeError) as error:
            raise MalformedMessage(str(error)) from None
        except (RecursionError, OverflowError) as error:
            raise MalformedMessage(f"a value is nested too deeply or too large: {error}") from None
        if self._next != count:
            raise MalformedMessage("the message has attachments that nothing refers to")
        return message

    def _detach(self, kind: type, value: Any) -> Any:
        if kind is Batch:
            return self._batch(value)
        if kind is Frame:
            return self._frame(msgspec.convert(value, _Marker))
        raise MalformedMessage(f"{kind.__name__} is not a type that travels")

    def _take(self) -> memoryview:
        if self._next >= len(self._attachments):
            raise MalformedBlock("an attachment is missing")
        self._next += 1
        return self._attachments[self._next - 1]

    def _batch(self, rows: Any) -> Batch:
        batch = Batch.decode(self._take())
        if len(batch) != rows:
            raise MalformedBlock(f"{rows} rows were announced, {len(batch)} came")
        return batch

    def _frame(self, marker: _Marker) -> Frame:
        if marker.low > marker.high or marker.rows < 0:
            raise MalformedBlock("a frame ends before it begins")
        if not marker.rows:
            return Frame(marker.low, marker.high, final=marker.final)
        ticks: Ticks
        if marker.dense:
            ticks = range(marker.first_tick, marker.first_tick + marker.rows)
        else:
            raw = self._take()
            if len(raw) != 8 * marker.rows:
                raise MalformedBlock("the tick column does not fit the number of rows")
            ticks = np.frombuffer(raw, "<i8")
            if (ticks[1:] <= ticks[:-1]).any():
                raise MalformedBlock("ticks do not ascend")
        if ticks[0] < marker.low or ticks[-1] >= marker.high:
            raise MalformedBlock("a tick lies outside its frame")
        batch = self._batch(marker.rows) if marker.rows else NO_ROWS
        return Frame(marker.low, marker.high, ticks, batch, final=marker.final)
