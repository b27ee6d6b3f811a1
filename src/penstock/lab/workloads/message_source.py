"""The messages of a modelled publisher: the n-th message is a function of n.

1. A payload begins with the identity of its message: its producer and its number.  A checker
   recognises a message by it, independently of the protocol.
2. The rest of the payload is padded to the specified size, either of the payload or of the whole
   message on a link between brokers.
3. ``identity = "tick"`` gives up the identity for speed in long runs: the same few batches are
   published repeatedly, and a message is recognised by the tick that its receipt names.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from xxhash import xxh3_64_intdigest

from penstock.content.codec.size import encoded_size
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.lab.workloads.attribute_values import value_function
from penstock.services.guaranteed.messages import Knowledge

Identity: TypeAlias = Literal["payload", "tick"]

IDENTITY: Final = struct.Struct("<QQ")
"""The start of a payload: a hash of the producer's name, and the message's number."""

POOLED_BATCHES: Final = 840
"""Number of different batches that are published in turn when messages are recognised by tick: a
multiple of every length up to eight, so that short cycles of attributes continue without a jump."""

USUAL_TICK: Final = 1_700_000_000 * SECOND
"""A tick of realistic size, for computing the length of a message on the wire."""


class SourceSpec(msgspec.Struct, frozen=True):
    """What a source publishes.  If ``wire_bytes`` is 0, ``payload_bytes`` applies."""

    producer: str
    pubend: str
    attributes: dict[str, AttributeValue]
    payload_bytes: int = 100
    wire_bytes: int = 0
    batch_rows: int = 1
    identity: Identity = "payload"


class UnreachableSize(ValueError):
    """The specified message size is smaller than the smallest possible message."""


class MessageSource:
    """All messages of one publisher, computed on demand."""

    def __init__(self, spec: SourceSpec, seed: int) -> None:
        """Raises ``UnreachableSize`` or ``InvalidAttributeSpec``."""
        self.spec = spec
        self.producer_hash = xxh3_64_intdigest(spec.producer.encode())
        self._values = {
            name: value_function(value, f"{seed}/{spec.producer}/{name}")
            for name, value in spec.attributes.items()
        }
        self._payload_bytes: dict[tuple[int, ...], int] = {}
        self._pool: dict[int, Batch] = {}
        self.row(0)

    @property
    def different_messages(self) -> int:
        """The number of messages after which contents repeat; 0 if they never do."""
        return POOLED_BATCHES * self.spec.batch_rows if self.spec.identity == "tick" else 0

    def _content_number(self, number: int) -> int:
        """The number of the first message with the same content."""
        return number % (self.different_messages or number + 1)

    def attributes(self, number: int) -> dict[str, AttributeValue]:
        number = self._content_number(number)
        return {name: value(number) for name, value in self._values.items()}

    def row(self, number: int) -> Row:
        number = self._content_number(number)
        attributes = self.attributes(number)
        identity = IDENTITY.pack(self.producer_hash, number)
        return attributes, identity.ljust(self._size(attributes), b".")

    def batch(self, first_number: int, count: int) -> Batch:
        """Messages that are published together."""
        if self.spec.identity != "tick" or count != self.spec.batch_rows:
            return Batch.from_rows([self.row(first_number + i) for i in range(count)])
        place = first_number // count % POOLED_BATCHES
        found = self._pool.get(place)
        if found is None:
            rows = [self.row(place * count + i) for i in range(count)]
            found = self._pool[place] = Batch.from_rows(rows)
        return found

    def _size(self, attributes: Mapping[str, AttributeValue]) -> int:
        if not self.spec.wire_bytes:
            return max(self.spec.payload_bytes, IDENTITY.size)
        lengths = tuple(len(v) for v in attributes.values() if isinstance(v, str | bytes))
        found = self._payload_bytes.get(lengths)
        if found is None:
            found = self._payload_bytes[lengths] = self._padding(attributes)
        return found

    def _padding(self, attributes: Mapping[str, AttributeValue]) -> int:
        """The payload size with which a batch comes nearest to ``wire_bytes`` per row."""
        rows = self.spec.batch_rows
        wanted = self.spec.wire_bytes * rows
        shortest = self._wire_size(attributes, IDENTITY.size)
        if wanted < shortest - 4:
            raise UnreachableSize(
                f"publisher {self.spec.producer!r}: wire_bytes = {self.spec.wire_bytes} is too "
                f"small: a message with these attributes has at least {-(-shortest // rows)} bytes"
            )
        size = IDENTITY.size + max(0, wanted - shortest) // rows
        # Everything on the wire is padded to eight bytes, so the nearest size is within four.
        nearby = range(max(IDENTITY.size, size - 8), size + 9)
        return min(nearby, key=lambda each: abs(self._wire_size(attributes, each) - wanted))

    def _wire_size(self, attributes: Mapping[str, AttributeValue], payload_bytes: int) -> int:
        rows = self.spec.batch_rows
        batch = Batch.from_rows([(attributes, bytes(payload_bytes))] * rows)
        ticks = range(USUAL_TICK, USUAL_TICK + rows)
        frame = Frame(USUAL_TICK - SECOND, USUAL_TICK + rows, ticks, batch)
        return encoded_size(Knowledge(self.spec.pubend, frame))


def identity_of(payload: Buffer) -> tuple[int, int] | None:
    """The producer hash and the number of a payload's message; None if it has no identity."""
    if len(payload) < IDENTITY.size:
        return None
    producer_hash, number = IDENTITY.unpack_from(payload)
    return producer_hash, number


def fingerprint(attributes: Mapping[str, AttributeValue], payload: Buffer) -> int:
    """A hash of a message's attributes and payload."""
    text = repr(sorted(attributes.items()))
    return xxh3_64_intdigest(bytes(payload), xxh3_64_intdigest(text.encode()))
