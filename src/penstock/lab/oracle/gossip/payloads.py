"""Payloads that name their publication, so that a receiver can tell what it received.

A payload begins with the number of the publication; the rest is a checksum of that number, repeated
until the payload has its size.  A payload that was changed on its way is therefore recognised.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

NUMBER_BYTES: Final = 8
CHECK_BYTES: Final = 4
SMALLEST_PAYLOAD_BYTES: Final = NUMBER_BYTES + CHECK_BYTES


def payload_of(number: int, size_bytes: int) -> bytes:
    """The payload of a publication; at least ``SMALLEST_PAYLOAD_BYTES``."""
    head = number.to_bytes(NUMBER_BYTES, "big")
    check = crc32(head).to_bytes(CHECK_BYTES, "big")
    return head + (check * (size_bytes // CHECK_BYTES))[: size_bytes - NUMBER_BYTES]


def number_in(payload: bytes) -> int:
    """The number that a payload begins with, whatever follows it."""
    return int.from_bytes(payload[:NUMBER_BYTES], "big")
