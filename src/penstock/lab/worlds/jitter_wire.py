"""Delays packets by a random time and keeps their order; for experiments with real TCP.

    python -m penstock.lab.worlds.jitter_wire INTERFACE LATENCY_MS JITTER_MS

1. It runs inside a network namespace whose kernel does not forward packets from ``INTERFACE``: this
   program reads them there, and passes them back to the kernel after the latency and the jitter.
2. A TCP connection over plain queues is clocked by its own packets: each one arrives where a place
   in the queue has just become free, and other traffic meets the full queue instead.  Real paths
   are not that regular.
3. The number of waiting packets is bounded; beyond that packets are lost, as on a wire.

The counterpart of the simulator's access link (penstock.sim.drop_tail_hop), for kernels without
``netem``.
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import time
from collections import deque
from random import Random
from typing import Final

ETHERNET_IP: Final = 0x0800
WAITING_PACKETS: Final = 1024
LARGEST_BYTES: Final = 65_536


def with_checksum(packet: bytes) -> bytes:
    """The IP packet with TCP's checksum, which virtual interfaces leave to absent hardware."""
    header_bytes = 4 * (packet[0] & 15)
    if packet[9] != socket.IPPROTO_TCP:
        return packet
    segment = bytearray(packet[header_bytes:])
    segment[16:18] = bytes(2)
    pseudo = packet[12:20] + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(segment))
    summed = pseudo + segment + bytes(len(segment) % 2)
    # The 16-bit one's complement sum equals the number modulo 2^16 - 1.
    rest = int.from_bytes(summed, "big") % 0xFFFF
    segment[16:18] = struct.pack("!H", 0xFFFF - rest)
    return packet[:header_bytes] + bytes(segment)


def carry(interface: str, latency_s: float, jitter_s: float, random: Random) -> None:
    """Forward packets until the process is terminated."""
    arriving = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETHERNET_IP))
    arriving.bind((interface, ETHERNET_IP))
    leaving = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    waiting: deque[tuple[float, bytes]] = deque()
    last_due = 0.0
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([arriving], [], [], timeout)[0]:
            packet, sender = arriving.recvfrom(LARGEST_BYTES)
            if sender[2] != socket.PACKET_OUTGOING and len(waiting) < WAITING_PACKETS:
                due = time.monotonic() + latency_s + random.random() * jitter_s
                last_due = max(last_due, due)
                waiting.append((last_due, with_checksum(packet)))
        while waiting and waiting[0][0] <= time.monotonic():
            packet = waiting.popleft()[1]
            leaving.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))


if __name__ == "__main__":
    carry(sys.argv[1], float(sys.argv[2]) / 1000, float(sys.argv[3]) / 1000, Random())
