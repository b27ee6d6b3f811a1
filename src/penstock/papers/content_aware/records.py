"""Figure 5: how accurately publication records show the loss event rate.

A flow of publications goes through a link that cannot sustain it.  Three receivers see the same
losses and estimate the loss event rate, and from it the rate of a TCP flow: an ideal one with
unlimited records, and two with records of five and of two messages.  Nothing is controlled, and no
broker takes part: it is a computation, not a scenario.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from statistics import mean
from typing import Literal

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

DURATION_S = 100
SETTLED_S = 10
"""Estimates are compared after this time."""
MOST_MSGS_PER_S = 5000.0
"""Before the first loss the rate of a TCP flow has no limit; it is shown as this."""
PUBLISH_MSGS_PER_S = 500.0
MATCHING = 0.2
CAPACITY_MSGS_PER_S = 96.0
"""Below the hundred messages per second that the subscriber wants."""
QUEUE_MESSAGES = 45
ROUND_TRIP_NS: Duration = 200 * MILLISECOND
IDEAL = 64
"""Covers every gap that occurs at this matching rate; it represents an unlimited record."""
RECORD_SIZES = (IDEAL, 5, 2)


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


def name_of(what: Literal["loss", "rate"], size: int, second: int) -> str:
    """The name of an estimate: the loss event rate, or the rate of a TCP flow."""
    return f"{what}, records of {size}, second {second}"


def ratio_name(size: int) -> str:
    """The name of the mean estimate of a rate, as a part of the ideal receiver's."""
    return f"rate, records of {size} / ideal"


def estimate(seed: int) -> Mapping[str, float]:
    """The estimates of every receiver in every second, and their ratios to the ideal one's."""
    random = random_stream(seed, "records")
    encodings = {kind: encode_message({"kind": kind}) for kind in ("wanted", "other")}
    receivers = {size: _Receiver(size) for size in RECORD_SIZES}
    estimates: dict[str, float] = {}
    recent: deque[int] = deque(maxlen=max(RECORD_SIZES))
    queued, last_received = 0.0, 0
    step = round(SECOND / PUBLISH_MSGS_PER_S)
    for sequence, now in enumerate(range(0, DURATION_S * SECOND, step), 1):
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
                loss = receiver.history.loss_event_rate()
                estimates[name_of("loss", size, now // SECOND)] = loss
                rate = min(MOST_MSGS_PER_S, allowed_rate(loss, ROUND_TRIP_NS))
                estimates[name_of("rate", size, now // SECOND)] = rate
    means = {
        size: mean(estimates[name_of("rate", size, each)] for each in range(SETTLED_S, DURATION_S))
        for size in RECORD_SIZES
    }
    return estimates | {ratio_name(size): means[size] / means[IDEAL] for size in RECORD_SIZES}
