"""One direction of a link that can be congested: a queue, a rate, a price."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from penstock.lab.arrays.multicast.routes import Direction
from penstock.services.multicast.laws.law import LinkPrice


class Packet(NamedTuple):
    """A message on its way."""

    route: int
    paid: float
    """The price that its sender's rate is worth."""
    named: dict[int, int]
    """The number of the price that the sender used, by link of its tree that costs something."""


class ArrayLink:
    """The state of one direction."""

    def __init__(self, direction: Direction, packet_bytes: int, record: LinkPrice) -> None:
        link = direction.link
        self.node = direction.here
        self.name = f"{direction.here}->{direction.there}"
        self.latency_s = link.latency_ms / 1000
        self.record = record
        self.queue: deque[Packet] = deque()
        self.busy = False
        self.sequence = 0
        self.price = 0.0
        self.sent_packets = 0
        self._window_packets = link.window_bytes // packet_bytes
        self._packet_bytes = packet_bytes
        self._most_buffered = 0
        self.set_bandwidth(link.bandwidth_bytes_per_s)

    def set_bandwidth(self, bytes_per_s: int) -> None:
        """Change the link's rate."""
        self.packets_per_s = bytes_per_s / self._packet_bytes
        in_flight = round(2 * self.latency_s * self.packets_per_s)
        self._free_packets = max(0, self._window_packets - in_flight)

    @property
    def buffered(self) -> int:
        """Packets that wait above what the link itself accepts."""
        return max(0, len(self.queue) - self._free_packets)

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        self.queue.append(packet)
        if self.buffered > self._most_buffered:
            self._most_buffered = self.buffered

    def statistics(self) -> tuple[tuple[str, float], ...]:
        """The telemetry of the link, with the same names as those of a simulated link."""
        most, self._most_buffered = self._most_buffered, self.buffered
        return (
            ("queue_bytes", len(self.queue) * self._packet_bytes),
            ("most_queued_bytes", most * self._packet_bytes),
            ("sent_bytes", self.sent_packets * self._packet_bytes),
            ("sent_messages", self.sent_packets),
            ("bandwidth_bytes_per_s", self.packets_per_s * self._packet_bytes),
            ("link_price", self.price),
        )
