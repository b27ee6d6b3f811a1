"""The envelope that carries every message of every service, little-endian.

1. 24 bytes: magic, version, number of attachments, length of the head, length of everything that
   follows the envelope, checksum over those, the head and the attachment table;
2. the head, padded to eight bytes as everything behind it;
3. the attachment table: the length of each attachment;
4. the attachments, untouched.
"""

from __future__ import annotations

import struct
from typing import Final

from xxhash import xxh3_64_intdigest

from penstock.content.rows import speedups
from penstock.content.rows.block import padded
from penstock.content.rows.columns import Buffer

MAGIC: Final = 0x5053  # "SP": the first two bytes of every frame on the wire
WIRE_VERSION: Final = 1
PREAMBLE: Final = struct.Struct("<HBBIQ")
CHECKSUM: Final = struct.Struct("<Q")
ENVELOPE: Final = struct.Struct("<HBBIQQ")

MAX_ATTACHMENTS: Final = 255


class MalformedMessage(ValueError):
    """These bytes are not a message of this protocol."""


def seal(head: bytes, attachments: list[Buffer]) -> list[Buffer]:
    """A message as pieces to be written one after another."""
    return speedups.seal(head, attachments) or plain_seal(head, attachments)


def opened(data: Buffer) -> tuple[Buffer, list[memoryview]]:
    """The head and the attachments of one whole message; raises ``MalformedMessage``."""
    return speedups.opened(data) or plain_opened(data)


def body_length(envelope: Buffer) -> int:
    """How many bytes follow this envelope; raises ``MalformedMessage``."""
    magic, version, _, _, length, _ = ENVELOPE.unpack_from(envelope)
    if magic != MAGIC:
        raise MalformedMessage("not a Penstock message: the first two bytes are wrong")
    if version != WIRE_VERSION:
        raise MalformedMessage(f"protocol version {version}; this program speaks {WIRE_VERSION}")
    return int(length)


def plain_seal(head: bytes, attachments: list[Buffer]) -> list[Buffer]:
    """``seal`` without the compiled parts."""
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


def plain_opened(data: Buffer) -> tuple[Buffer, list[memoryview]]:
    """``opened`` without the compiled parts."""
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
    attachments = []
    for size in struct.unpack_from(f"<{count}I", view, table_at):
        if at + padded(size) > len(view):
            raise MalformedMessage("an attachment runs over the end of the message")
        attachments.append(view[at : at + size])
        at += padded(size)
    return view[ENVELOPE.size : ENVELOPE.size + head_length], attachments
