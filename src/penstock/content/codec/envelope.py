"""The envelope around every message of the stream profile, little-endian.

1. 24 bytes: magic, version, number of attachments, length of the head, length of everything that
   follows the envelope, checksum over those, the head and the attachment table;
2. the head, padded to eight bytes like everything that follows it;
3. the attachment table: the length of each attachment;
4. the attachments, untouched.
"""

from __future__ import annotations

import struct
from typing import Final

from xxhash import xxh3_64_intdigest

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.rows import speedups
from penstock.content.rows.columns import Buffer
from penstock.content.rows.layout import packing, padded, padding

MAGIC: Final = 0x5053  # "SP": the first two bytes of every frame on the wire
WIRE_VERSION: Final = 1

ENVELOPE_FIELDS: Final = {
    "magic": "H",
    "version": "B",
    "attachments": "B",
    "head_bytes": "I",
    "body_bytes": "Q",
    "checksum": "Q",
}
"""Field names and their ``struct`` codes, in order (``rows.layout`` says how they are used)."""

ENVELOPE: Final = packing(ENVELOPE_FIELDS)
PREAMBLE: Final = packing({name: ENVELOPE_FIELDS[name] for name in list(ENVELOPE_FIELDS)[:-1]})
"""The envelope before its checksum, which covers it."""
CHECKSUM: Final = packing({"checksum": ENVELOPE_FIELDS["checksum"]})

LENGTH_BYTES: Final = 4
"""What the attachment table has for each attachment."""

MAX_ATTACHMENTS: Final = 255
"""What the envelope's count of one byte can say."""


def lead_bytes(head_bytes: int, attachments: int) -> int:
    """The room of the head and the attachment table."""
    return padded(head_bytes) + padded(LENGTH_BYTES * attachments)


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
    lead = head + bytes(padding(len(head))) + table + bytes(padding(len(table)))
    length = len(lead) + sum(padded(len(each)) for each in attachments)
    preamble = PREAMBLE.pack(MAGIC, WIRE_VERSION, len(attachments), len(head), length)
    checksum = xxh3_64_intdigest(preamble + lead)
    pieces: list[Buffer] = [preamble + CHECKSUM.pack(checksum) + lead]
    for each in attachments:
        pieces.append(each)
        filler = padding(len(each))
        if filler:
            pieces.append(bytes(filler))
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
    at = ENVELOPE.size + lead_bytes(head_length, count)
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
