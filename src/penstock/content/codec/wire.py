"""Messages as bytes, and back.

A message is MessagePack in an envelope (``envelope``), with a small marker where a batch or a frame
stands; their tick columns and blocks are attached behind it, untouched.

A block has its own checksum, computed by the publisher and checked where it is read, so a relay
that forwards a frame neither copies nor re-computes anything but the head.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar

import msgspec
import numpy as np

from penstock.content.codec.envelope import ENVELOPE, MalformedMessage, opened, seal
from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock, padded
from penstock.content.rows.columns import Buffer
from penstock.content.rows.frame import NO_ROWS, Frame, Ticks
from penstock.core.limits import MOST_ROWS, TickLimited
from penstock.core.message import Message

M = TypeVar("M", bound=Message)

RowCount: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MOST_ROWS)]


class _Marker(msgspec.Struct, frozen=True, array_like=True):
    """Stands for a frame in a head: its interval, and how its ticks and rows are attached."""

    low: TickLimited
    high: TickLimited
    final: bool
    first_tick: TickLimited
    rows: RowCount
    dense: bool


class _Encoder:
    """Encodes heads and collects what belongs behind them; for one message at a time."""

    __slots__ = ("_encode", "attachments")

    def __init__(self) -> None:
        self.attachments: list[Buffer] = []
        self._encode = msgspec.msgpack.Encoder(enc_hook=self._attach).encode

    def take(self, message: Message) -> tuple[bytes, list[Buffer]]:
        head = self._encode(message)
        # Not kept here: whoever is idle must not hold the bytes of the last message.
        attachments, self.attachments = self.attachments, []
        return head, attachments

    def _attach(self, value: Any) -> Any:
        if isinstance(value, Batch):
            self.attachments.append(value.encode())
            return len(value)
        if isinstance(value, Frame):
            return _marker(value, self.attachments)
        raise TypeError(f"{type(value).__name__} cannot travel in a message")


_idle_encoders: list[_Encoder] = []
"""Those that nobody uses at present: threads take one each, and one is enough for most programs."""


def encode(message: Message) -> list[Buffer]:
    """The message as pieces to be written one after another."""
    encoder = _idle_encoders.pop() if _idle_encoders else _Encoder()
    head, attachments = encoder.take(message)
    _idle_encoders.append(encoder)
    return seal(head, attachments)


def _marker(frame: Frame, attachments: list[Buffer]) -> _Marker:
    rows, ticks = len(frame), frame.ticks
    dense = isinstance(ticks, range)
    if rows:
        if not dense:
            attachments.append(frame.tick_array().tobytes())
        attachments.append(frame.batch.encode())
    first = int(ticks[0]) if rows else 0
    return _Marker(frame.low, frame.high, frame.final, first, rows, dense)


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


class Decoder(Generic[M]):
    """Reads the messages of one union of types."""

    def __init__(self, message_types: Iterable[type[M]]) -> None:
        """Only these types are accepted."""
        union: Any = None
        self._types: dict[str, type[Message]] = {}
        for each in message_types:
            union = each if union is None else union | each
            self._types[each.__name__] = each
        self._attachments: list[memoryview] = []
        self._next = 0
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(
            union, dec_hook=self._detach
        )

    def decode(self, data: Buffer) -> M:
        """One whole message, envelope included; raises ``MalformedMessage``."""
        head, self._attachments = opened(data)
        self._next = 0
        try:
            message = self._decoder.decode(head)
        except msgspec.ValidationError as error:
            raise MalformedMessage(self._located(head, str(error))) from None
        except (msgspec.MsgspecError, MalformedBlock, UnicodeDecodeError) as error:
            raise MalformedMessage(str(error)) from None
        except (RecursionError, OverflowError) as error:
            raise MalformedMessage(f"a value is nested too deeply or too large: {error}") from None
        if self._next != len(self._attachments):
            raise MalformedMessage("the message has attachments that nothing refers to")
        return message

    def _located(self, head: Buffer, problem: str) -> str:
        """A problem that names the field by its place in the head, with the field's own name."""
        kind = self._types.get(_tag(bytes(head[:64])))
        if kind is None:
            return problem
        found = re.search(r"\$\[(\d+)\]", problem)
        fields = kind.__struct_fields__
        number = int(found[1]) - 1 if found else len(fields)
        where = f"{kind.__name__}.{fields[number]}" if number < len(fields) else kind.__name__
        return f"{where}: {problem}"

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


ARRAY_HEADER_BYTES: Final = {0xDC: 3, 0xDD: 5}
SHORT_ARRAY: Final = range(0x90, 0xA0)
SHORT_TEXT: Final = range(0xA0, 0xC0)
TEXT_WITH_LENGTH: Final = 0xD9


def _tag(head: bytes) -> str:
    """The name of the message that a head begins with; empty if it does not.

    Read by hand, since what comes behind it may be large and is not worth decoding.
    """
    try:
        at = 1 if head[0] in SHORT_ARRAY else ARRAY_HEADER_BYTES[head[0]]
        if head[at] in SHORT_TEXT:
            length = head[at] - SHORT_TEXT.start
        elif head[at] == TEXT_WITH_LENGTH:
            at += 1
            length = head[at]
        else:
            return ""
        return head[at + 1 : at + 1 + length].decode()
    except (IndexError, KeyError, UnicodeDecodeError):
        return ""
