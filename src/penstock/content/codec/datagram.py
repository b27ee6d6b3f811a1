"""The datagram profile: several messages in one datagram, none in two.

A datagram is a short header (magic, version, checksum of what follows) and a MessagePack array of
messages, as many as fit.  One call encodes a message and one call reads a whole datagram, because
at tens of thousands of messages a second an envelope for each would cost more than the messages.
A datagram that cannot be read is dropped whole: if one part of it is damaged, the others cannot be
trusted either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Final

import msgspec
from xxhash import xxh3_64_intdigest

from penstock.content.codec.malformed import UNREADABLE, MalformedMessage, malformed
from penstock.content.codec.vocabulary import union_of
from penstock.content.rows.columns import Buffer
from penstock.core.message import Message

MAGIC: Final = 0x5044  # "DP": the first two bytes of every datagram
VERSION: Final = 1
HEADER: Final = Struct("<HBQ")
ARRAY: Final = Struct(">BH")
ARRAY_16: Final = 0xDC
"""MessagePack's array with a count of 16 bits, whatever the count is."""

OVERHEAD_BYTES: Final = HEADER.size + ARRAY.size
"""What a datagram takes beside its messages."""

MAX_MESSAGES: Final = 0xFFFF
"""What the array's 16-bit count can say."""

encode_message: Final = msgspec.msgpack.Encoder().encode
"""One message as it stands in a datagram."""


def datagram_of(pieces: list[bytes]) -> bytes:
    """A datagram that carries these encoded messages."""
    body = b"".join((ARRAY.pack(ARRAY_16, len(pieces)), *pieces))
    return HEADER.pack(MAGIC, VERSION, xxh3_64_intdigest(body)) + body


class DatagramPacker:
    """Collects encoded messages and sends a datagram when the next one does not fit.

    So never more than one datagram waits here, however much is put in.  A message larger than the
    limit is sent alone; the network may drop it.
    """

    __slots__ = ("_limit_bytes", "_pieces", "_send", "_used")

    def __init__(self, limit_bytes: int, send: Callable[[bytes], None]) -> None:
        """``send`` gets whole datagrams."""
        self._limit_bytes = limit_bytes
        self._send = send
        self._pieces: list[bytes] = []
        self._used = OVERHEAD_BYTES

    def put(self, piece: bytes) -> None:
        """Add an encoded message."""
        self._used += len(piece)
        if self._pieces and (self._used > self._limit_bytes or len(self._pieces) == MAX_MESSAGES):
            self.flush()
            self._used = OVERHEAD_BYTES + len(piece)
        self._pieces.append(piece)

    def put_all(self, messages: Iterable[Message]) -> int:
        """Encode messages and add them; returns how many bytes they take."""
        total = 0
        for message in messages:
            piece = encode_message(message)
            total += len(piece)
            self.put(piece)
        return total

    def flush(self) -> None:
        """Send the datagram that is being filled, if it holds any message."""
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            self._used = OVERHEAD_BYTES
            self._send(datagram_of(pieces))


class DatagramDecoder:
    """Reads datagrams."""

    __slots__ = ("_decode",)

    def __init__(self, message_types: Iterable[type[Message]]) -> None:
        """Only these types are accepted."""
        decoder: msgspec.msgpack.Decoder[list[Message]] = msgspec.msgpack.Decoder(
            list[union_of(message_types)]  # type: ignore[misc]
        )
        self._decode = decoder.decode

    def decode(self, datagram: Buffer) -> list[Message]:
        """The messages of a datagram; raises ``MalformedMessage``."""
        if len(datagram) < OVERHEAD_BYTES:
            raise MalformedMessage(f"{len(datagram)} bytes are too few for a datagram")
        magic, version, checksum = HEADER.unpack_from(datagram)
        if magic != MAGIC:
            raise MalformedMessage("not a datagram of Penstock: the first two bytes are wrong")
        if version != VERSION:
            raise MalformedMessage(f"datagram version {version}; this program speaks {VERSION}")
        body = memoryview(datagram)[HEADER.size :]
        if xxh3_64_intdigest(body) != checksum:
            raise MalformedMessage("the datagram's checksum does not fit its bytes")
        try:
            return self._decode(body)
        except UNREADABLE as error:
            raise malformed(error) from None
