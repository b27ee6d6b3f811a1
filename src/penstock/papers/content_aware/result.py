"""The result of a run of a datagram scenario, with the quantities of the paper."""

from __future__ import annotations

import msgspec

from penstock.core.clock import SECOND, Duration, in_seconds


class PairRun(msgspec.Struct, frozen=True):
    """One publisher and its subscriber, by bucket.

    ``sent`` counts the wanted messages that left the publisher, ``missed`` those of them that did
    not arrive, by the bucket of their sending; ``received`` is by the bucket of arrival.
    """

    sent: tuple[int, ...]
    received: tuple[int, ...]
    missed: tuple[int, ...]
    delay_ns_total: int
    refused: int

    @property
    def missed_messages(self) -> int:
        """Failed deliveries."""
        return sum(self.missed)

    @property
    def received_messages(self) -> int:
        """Deliveries."""
        return sum(self.received)


class DatagramRun(msgspec.Struct, frozen=True):
    """One run, in buckets of equal length."""

    bucket_ns: Duration
    message_bytes: int
    published: tuple[int, ...]
    carried_bytes: tuple[int, ...]
    tcp_bytes: tuple[int, ...]
    near_received: tuple[int, ...]
    pairs: tuple[PairRun, ...]

    @property
    def bucket_s(self) -> float:
        """The length of a bucket."""
        return in_seconds(self.bucket_ns)

    def received_by(self, pair: int) -> tuple[int, ...]:
        """The messages that a subscriber received, by bucket."""
        return self.pairs[pair].received

    def bucket_at(self, at_s: float) -> int:
        """The bucket that begins at a time."""
        return round(at_s * SECOND / self.bucket_ns)

    @property
    def missed_messages(self) -> int:
        """Failed deliveries of all pairs."""
        return sum(pair.missed_messages for pair in self.pairs)

    @property
    def received_messages(self) -> int:
        """Deliveries of all pairs."""
        return sum(pair.received_messages for pair in self.pairs)

    def rate_msgs_per_s(self, pair: int, from_s: float, to_s: float) -> float:
        """The rate that a subscriber received between two times."""
        received = self.pairs[pair].received[self.bucket_at(from_s) : self.bucket_at(to_s)]
        return sum(received) / (to_s - from_s)

    def carried_bytes_per_s(self, from_s: float, to_s: float) -> float:
        """The rate that the bottleneck carried between two times, TCP included."""
        carried = self.carried_bytes[self.bucket_at(from_s) : self.bucket_at(to_s)]
        return sum(carried) / (to_s - from_s)

    def tcp_bytes_per_s(self, from_s: float, to_s: float) -> float:
        """The rate that TCP delivered between two times."""
        delivered = self.tcp_bytes[self.bucket_at(from_s) : self.bucket_at(to_s)]
        return sum(delivered) / (to_s - from_s)
