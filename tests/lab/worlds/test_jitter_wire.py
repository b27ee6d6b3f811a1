"""The jitter hop forwards packets unchanged, except for the missing checksum."""

from __future__ import annotations

import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from penstock.lab.worlds.jitter_wire import with_checksum

HERE, THERE = socket.inet_aton("10.202.2.1"), socket.inet_aton("10.202.1.2")


def ip_packet(protocol: int, body: bytes) -> bytes:
    total = 20 + len(body)
    return struct.pack("!BBHHHBBH", 0x45, 0, total, 1, 0, 64, protocol, 0) + HERE + THERE + body


def words(data: bytes) -> list[int]:
    padded = data + bytes(len(data) % 2)
    return [high << 8 | low for high, low in zip(padded[::2], padded[1::2], strict=True)]


def folded(data: bytes) -> int:
    """RFC 1071: the sum of 16-bit words with the carries added."""
    total = sum(words(data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@given(st.binary(min_size=20, max_size=300))
def test_a_receiver_accepts_the_checksum(segment: bytes) -> None:
    packet = with_checksum(ip_packet(socket.IPPROTO_TCP, segment))
    pseudo = HERE + THERE + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(segment))
    assert folded(pseudo + packet[20:]) == 0xFFFF


@given(st.binary(min_size=20, max_size=300))
def test_nothing_but_the_checksum_changes(segment: bytes) -> None:
    before = ip_packet(socket.IPPROTO_TCP, segment)
    after = with_checksum(before)
    assert (after[:36], after[38:]) == (before[:36], before[38:])


def test_other_protocols_are_not_changed() -> None:
    packet = ip_packet(socket.IPPROTO_ICMP, bytes(range(40)))
    assert with_checksum(packet) == packet
