"""What single producers and consumers of queues saw: one column for each property of a message.

A run may have millions of messages, so that everything is kept in arrays and read with numpy.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from penstock.content.rows.batch import Batch
from penstock.core.clock import Instant
from penstock.lab.workloads.message_source import IDENTITY, MessageSource, fingerprint
from penstock.services.queues.messages import Deliver

NOBODY: Final = 0
"""The producer of a message without an identity; in practice no name hashes to it."""

REDELIVERED: Final = 1
DEAD_LETTER: Final = 2
"""Marks of a received message, as bits."""

DEAD_LETTER_ATTRIBUTES: Final = ("dead_letter_queue", "dead_letter_reason")
"""What a broker adds to a message that it gives up (docs/reference/queues.md)."""


class Outcome(IntEnum):
    """What a producer was told about a message."""

    PENDING = 0
    CONFIRMED = 1
    REFUSED = 2
    UNCERTAIN = 3


class ProducerHistory:
    """The messages of one producer and their outcomes."""

    def __init__(
        self, name: str, queues: frozenset[str], *, in_order: bool, held_up: bool = False
    ) -> None:
        """``queues`` are the addresses (``queue@broker``) of those that its messages may reach.

        ``in_order`` says whether they arrive there in the order in which they were sent, and
        ``held_up`` whether a fault that lasts until the end may keep them from arriving.
        """
        self.name = name
        self.queues = queues
        self.in_order = in_order
        self.held_up = held_up
        self.source: MessageSource | None = None
        """What it sends; set when it starts."""
        self.submitted_at = array("q")
        self.settled_at = array("q")
        self.fingerprints = array("Q")
        self.outcomes = bytearray()
        self.pending = 0
        self.reasons: dict[str, int] = {}

    def submitted(self, batch: Batch, now: Instant) -> int:
        """Record messages that were handed to the client library; returns the first's number."""
        first, count = len(self.outcomes), len(batch)
        self.submitted_at.extend([now] * count)
        self.settled_at.extend([0] * count)
        self.fingerprints.extend(_fingerprints(batch)[0])
        self.outcomes.extend(bytes(count))
        self.pending += count
        return first

    def settled(
        self, first: int, count: int, outcome: Outcome, now: Instant, reason: str = ""
    ) -> None:
        """Record what became of messages; ``reason`` goes with a failure."""
        self.outcomes[first : first + count] = bytes([outcome]) * count
        self.settled_at[first : first + count] = array("q", [now]) * count
        self.pending -= count
        if reason:
            self.reasons[reason] = self.reasons.get(reason, 0) + count

    def outcomes_array(self) -> npt.NDArray[np.uint8]:
        """The outcomes by number."""
        return np.array(self.outcomes, np.uint8)

    def __len__(self) -> int:
        return len(self.outcomes)


class ConsumerHistory:
    """The messages that one consumer was given, in order, and what it did with them."""

    def __init__(self, name: str, queue: str, selector: str = "", *, stays: bool = True) -> None:
        """``queue`` is an address; ``stays`` says whether it consumes until the end of the run."""
        self.name = name
        self.queue = queue
        self.selector = selector
        self.stays = stays
        self.closed_at: list[Instant] = []
        """When it gave back what it had not settled, without a mark on it."""
        self.received_at = array("q")
        self.consumed_at = array("q")
        """When the application had finished with a message; 0 if it has not."""
        self.confirmed_at = array("q")
        """When it was told that its acknowledgement is durable; 0 if it was not."""
        self.producers = array("Q")
        self.numbers = array("q")
        self.fingerprints = array("Q")
        self.marks = bytearray()
        self.in_hand = 0
        """Messages that the application works on."""

    def received(self, delivery: Deliver, now: Instant) -> int:
        """Record messages that were given to the application; returns the place of the first."""
        first, count = len(self.marks), len(delivery.frame)
        batch = delivery.frame.batch
        producers, numbers = _identities(batch)
        fingerprints, letters = _fingerprints(batch)
        self.received_at.extend([now] * count)
        for column in (self.consumed_at, self.confirmed_at):
            column.extend([0] * count)
        self.producers.frombytes(producers.tobytes())
        self.numbers.frombytes(numbers.tobytes())
        self.fingerprints.extend(fingerprints)
        self.marks.extend(_redelivered(delivery))
        for place in letters:
            self.marks[first + place] |= DEAD_LETTER
        self.in_hand += count
        return first

    def consumed(self, first: int, count: int, now: Instant) -> None:
        """The application has finished with these and acknowledged them."""
        self.in_hand -= count
        self.consumed_at[first : first + count] = array("q", [now]) * count

    def confirmed(self, first: int, count: int, now: Instant) -> None:
        """The acknowledgement of these is durable."""
        self.confirmed_at[first : first + count] = array("q", [now]) * count

    def closed(self, now: Instant) -> None:
        """The consumer closed, which gives back what it had not settled."""
        self.closed_at.append(now)
        self.in_hand = 0

    def __len__(self) -> int:
        return len(self.marks)


def _identities(batch: Batch) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The producer and the number of each message, from the beginning of its payload."""
    offsets, data = batch.payloads
    starts = np.asarray(offsets[:-1], np.int64)
    whole = np.diff(np.asarray(offsets, np.int64)) >= IDENTITY.size
    producers = np.full(len(batch), NOBODY, np.uint64)
    numbers = np.full(len(batch), -1, np.int64)
    if whole.any():
        places = starts[whole][:, None] + np.arange(IDENTITY.size)
        pairs = np.frombuffer(data, np.uint8)[places].view("<u8")
        producers[whole], numbers[whole] = pairs[:, 0], pairs[:, 1].astype(np.int64)
    return producers, numbers


def _fingerprints(batch: Batch) -> tuple[list[int], list[int]]:
    """A hash of each message's content, and the places of dead letters.

    What a broker added to a dead letter is no part of its content.
    """
    attributes, payloads = batch.attribute_rows(), batch.payload_rows()
    letters = []
    if any(column.name == DEAD_LETTER_ATTRIBUTES[0] for column in batch.columns):
        letters = [
            place for place, row in enumerate(attributes) if DEAD_LETTER_ATTRIBUTES[0] in row
        ]
        for place in letters:
            for name in DEAD_LETTER_ATTRIBUTES:
                attributes[place].pop(name, None)
    return list(map(fingerprint, attributes, payloads)), letters


def _redelivered(delivery: Deliver) -> bytes:
    count = len(delivery.frame)
    if delivery.recovered or not delivery.attempts:
        return bytes([REDELIVERED if delivery.recovered else 0]) * count
    tried = dict(delivery.attempts)
    return bytes(REDELIVERED if int(each) in tried else 0 for each in delivery.frame.ticks)
