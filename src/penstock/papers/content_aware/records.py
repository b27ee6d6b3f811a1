"""Figure 5: how accurately publication records show the loss event rate.

A flow of publications goes through a link that cannot sustain it.  Three receivers see the same
losses and estimate the loss event rate, and from it the rate of a TCP flow: an ideal one with
unlimited records, and two with records of five and of two messages.  Nothing is controlled.
"""

from __future__ import annotations

from collections import deque

import msgspec

from penstock.content.bloom.encoding import encode_filter, encode_message
from penstock.content.selectors.parser import parse
from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.randomness import random_stream
from penstock.services.datagram.laws.equation import allowed_rate, loss_event_rate_for
from penstock.services.datagram.subscriber.loss_history import LossHistory
from penstock.services.datagram.subscriber.publication_record import (
    ENCODING_BYTES,
    read_record,
    write_record,
)

DURATION_NS: Duration = 100 * SECOND
PUBLISH_MSGS_PER_S = 500.0
MATCHING = 0.2
CAPACITY_MSGS_PER_S = 96.0
"""Below the hundred messages per second that the subscriber wants."""
QUEUE_MESSAGES = 45
ROUND_TRIP_NS: Duration = 200 * MILLISECOND
RECORD_SIZES = (64, 5, 2)
"""64 covers every gap that occurs at this matching rate; it represents an unlimited record."""


class RecordEstimates(msgspec.Struct, frozen=True):
    """The estimate of each receiver, second by second, by the size of its records."""

    loss_event_rates: dict[int, tuple[float, ...]]
    rates_msgs_per_s: dict[int, tuple[float, ...]]

    def mean_rate(self, record: int) -> float:
        """The mean estimate after the first ten seconds."""
        settled = self.rates_msgs_per_s[record][10:]
        return sum(settled) / len(settled)


class _Receiver:
    def __init__(self, record_messages: int) -> None:
        self.record_bytes = record_messages * ENCODING_BYTES
        self.history = LossHistory()

    def received(self, record: bytes, gap: int, now: Instant) -> None:
        wanted = (WANTED_FILTER,)
        reading = read_record(record[: self.record_bytes], gap, wanted, MATCHING)
        if reading.lost_messages:
            first = 1 / loss_event_rate_for(MATCHING * PUBLISH_MSGS_PER_S, ROUND_TRIP_NS)
            self.history.lost(now, ROUND_TRIP_NS, first)
        self.history.arrived(reading.weight)


WANTED_FILTER = encode_filter(parse("kind = 'wanted'"))


def estimate(seed: int) -> RecordEstimates:
    """One run."""
    random = random_stream(seed, "records")
    encodings = {kind: encode_message({"kind": kind}) for kind in ("wanted", "other")}
    receivers = {size: _Receiver(size) for size in RECORD_SIZES}
    losses: dict[int, list[float]] = {size: [] for size in RECORD_SIZES}
    rates: dict[int, list[float]] = {size: [] for size in RECORD_SIZES}
    recent: deque[int] = deque(maxlen=max(RECORD_SIZES))
    queued, last_received = 0.0, 0
    step = round(SECOND / PUBLISH_MSGS_PER_S)
    for sequence, now in enumerate(range(0, DURATION_NS, step), 1):
        kind = "wanted" if random.random() < MATCHING else "other"
        queued = max(0.0, queued - CAPACITY_MSGS_PER_S / PUBLISH_MSGS_PER_S)
        if kind == "wanted" and queued + 1 <= QUEUE_MESSAGES:
            queued += 1
            record = write_record(recent)
            for receiver in receivers.values():
                receiver.received(record, sequence - last_received - 1, now)
            last_received = sequence
        recent.appendleft(encodings[kind])
        if now % SECOND < step:
            for size, receiver in receivers.items():
                rate = receiver.history.loss_event_rate()
                losses[size].append(rate)
                most = 10 * PUBLISH_MSGS_PER_S
                rates[size].append(min(most, allowed_rate(rate, ROUND_TRIP_NS)))
    return RecordEstimates(
        {size: tuple(each) for size, each in losses.items()},
        {size: tuple(each) for size, each in rates.items()},
    )
