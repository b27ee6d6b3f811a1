"""The stream profile: one message as bytes, and back.

A message is MessagePack in an envelope (``envelope``), with a small marker where a batch or a frame
stands (``markers``); tick columns and blocks are attached behind it, untouched.

A block has its own checksum, computed by the publisher and checked where it is read, so a relay
that forwards a frame neither copies nor re-computes anything but the head.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

import msgspec

from penstock.content.codec.envelope import opened, seal
from penstock.content.codec.malformed import UNREADABLE, MalformedMessage, malformed
from penstock.content.codec.markers import batch_of, frame_of, marker_of
from penstock.content.codec.vocabulary import union_of
from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock
from penstock.content.rows.columns import Buffer
from penstock.content.rows.frame import Frame
from penstock.core.message import Message

M = TypeVar("M", bound=Message)


class _Encoder:
    """Encodes heads and collects their attachments; for one message at a time."""

    __slots__ = ("_encode", "attachments")

    def __init__(self) -> None:
        self.attachments: list[Buffer] = []
        self._encode = msgspec.msgpack.Encoder(enc_hook=self._attach).encode

    def take(self, message: Message) -> tuple[bytes, list[Buffer]]:
        head = self._encode(message)
        # An idle encoder must not keep the bytes of its last message alive.
        attachments, self.attachments = self.attachments, []
        return head, attachments

    def _attach(self, value: Any) -> Any:
        if isinstance(value, Batch):
            self.attachments.append(value.encode())
            return len(value)
        if isinstance(value, Frame):
            marker = marker_of(value)
            if marker.rows:
                if not marker.dense:
                    self.attachments.append(value.tick_array().tobytes())
                self.attachments.append(value.batch.encode())
            return marker
        raise TypeError(f"{type(value).__name__} cannot travel in a message")


_idle_encoders: list[_Encoder] = []
"""Encoders that no thread uses at present; most programs never need a second one."""


def encode(message: Message) -> list[Buffer]:
    """The message as pieces to be written one after another."""
    encoder = _idle_encoders.pop() if _idle_encoders else _Encoder()
    head, attachments = encoder.take(message)
    _idle_encoders.append(encoder)
    return seal(head, attachments)


def encode_joined(message: Message) -> bytes:
    """The message as one run of bytes, for a datagram of its own."""
    return b"".join(encode(message))


class Decoder(Generic[M]):
    """Reads the messages of one union of types."""

    def __init__(self, message_types: Iterable[type[M]]) -> None:
        """Only these types are accepted."""
        types = tuple(message_types)
        self._types: dict[str, type[Message]] = {each.__name__: each for each in types}
        self._attachments: list[memoryview] = []
        self._next = 0
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(
            union_of(types), dec_hook=self._detach
        )

    def decode(self, data: Buffer) -> M:
        """One whole message, envelope included; raises ``MalformedMessage``."""
        head, self._attachments = opened(data)
        self._next = 0
        try:
            message = self._decoder.decode(head)
        except msgspec.ValidationError as error:
            raise MalformedMessage(self._located(head, str(error))) from None
        except UNREADABLE as error:
            raise malformed(error) from None
        if self._next != len(self._attachments):
            raise MalformedMessage("the message has attachments that nothing refers to")
        return message

    def _located(self, head: Buffer, problem: str) -> str:
        """Names the field of a problem that msgspec names by its place in the head."""
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
            return batch_of(value, self._take())
        if kind is Frame:
            return frame_of(value, self._take)
        raise MalformedMessage(f"{kind.__name__} is not a type that travels")

    def _take(self) -> memoryview:
        if self._next >= len(self._attachments):
            raise MalformedBlock("an attachment is missing")
        self._next += 1
        return self._attachments[self._next - 1]


ARRAY_HEADER_BYTES: Final = {0xDC: 3, 0xDD: 5}
SHORT_ARRAY: Final = range(0x90, 0xA0)
SHORT_TEXT: Final = range(0xA0, 0xC0)
TEXT_WITH_LENGTH: Final = 0xD9


def _tag(head: bytes) -> str:
    """The name of the message that a head begins with, or the empty string.

    The head is parsed by hand, because the rest of it may be large and is not needed.
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
