"""The envelope, and envelopes that are wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from penstock.content.codec.envelope import (
    CHECKSUM,
    ENVELOPE,
    MAGIC,
    PREAMBLE,
    WIRE_VERSION,
    body_length,
    lead_bytes,
    opened,
    plain_opened,
    plain_seal,
    seal,
)
from penstock.content.codec.malformed import MalformedMessage

Opened = Callable[[bytes], tuple[object, list[memoryview]]]

both = pytest.mark.parametrize("open_envelope", [opened, plain_opened])


def sealed(head: bytes = b"head", *attachments: bytes) -> bytearray:
    return bytearray(b"".join(plain_seal(head, list(attachments))))


def with_right_checksum(data: bytearray, covered: int) -> bytes:
    """The same bytes with a checksum that is right for an envelope of this lead."""
    part = bytes(data[: PREAMBLE.size]) + bytes(data[ENVELOPE.size : ENVELOPE.size + covered])
    data[PREAMBLE.size : ENVELOPE.size] = CHECKSUM.pack(xxh3_64_intdigest(part))
    return bytes(data)


@given(head=st.binary(max_size=30), attachments=st.lists(st.binary(max_size=30), max_size=5))
def test_an_envelope_gives_back_head_and_attachments(head: bytes, attachments: list[bytes]) -> None:
    data = b"".join(seal(head, list(attachments)))
    assert len(data) % 8 == 0
    assert body_length(data) == len(data) - ENVELOPE.size
    found, parts = opened(data)
    assert (bytes(found), [bytes(each) for each in parts]) == (head, attachments)


def test_attachments_are_not_copied() -> None:
    attachment = bytes(100)
    assert seal(b"head", [attachment])[1] is attachment


@both
def test_other_bytes_and_versions_are_refused(open_envelope: Opened) -> None:
    with pytest.raises(MalformedMessage, match="3 bytes are too few"):
        open_envelope(b"abc")
    with pytest.raises(MalformedMessage, match="the first two bytes are wrong"):
        open_envelope(b"HTTP/1.1 400 Bad Request, sorry")
    data = sealed()
    data[2] = WIRE_VERSION + 1
    with pytest.raises(MalformedMessage, match=f"protocol version {WIRE_VERSION + 1}"):
        open_envelope(bytes(data))


@both
def test_every_flipped_bit_before_the_attachments_is_noticed(open_envelope: Opened) -> None:
    covered = ENVELOPE.size + lead_bytes(4, 1)
    for place in range(covered):
        for bit in range(8):
            data = sealed(b"head", b"attachment")
            data[place] ^= 1 << bit
            with pytest.raises(MalformedMessage):
                open_envelope(bytes(data))


@both
def test_lengths_that_lie_are_refused(open_envelope: Opened) -> None:
    data = sealed()
    with pytest.raises(MalformedMessage, match="length in the envelope"):
        open_envelope(bytes(data) + bytes(8))
    data[4:8] = (1000).to_bytes(4, "little")
    with pytest.raises(MalformedMessage, match="head is longer"):
        open_envelope(bytes(data))
    data = sealed(b"head", b"attachment")
    table = ENVELOPE.size + 8
    data[table : table + 4] = (1000).to_bytes(4, "little")
    with pytest.raises(MalformedMessage, match="attachment runs over the end"):
        open_envelope(with_right_checksum(data, lead_bytes(4, 1)))


def test_the_magic_reads_as_letters() -> None:
    assert MAGIC.to_bytes(2, "little") == b"SP"
