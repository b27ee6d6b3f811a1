"""The messages of a datagram publisher in a scenario: the n-th message is a function of n.

1. A payload begins with the identity of its message (``lab/workloads/message_source``), by which
   the judge recognises it.
2. It is padded so that a datagram with this message alone has ``message_bytes``, with the tag of
   one flow where rates are controlled.  Without control there are no tags, and the payload is
   larger by their size: otherwise the same link would carry an eighth more messages without control
   than with it.
"""

from __future__ import annotations

from typing import Final

from xxhash import xxh3_64_intdigest

from penstock.content.codec.datagram import datagram_of, encode_message
from penstock.core.clock import SECOND, Instant
from penstock.lab.workloads.attribute_values import value_function
from penstock.lab.workloads.message_source import IDENTITY
from penstock.services.datagram.messages import Attribute, FlowTag, Publication, address_of
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.subscriber.publication_record import ENCODING_BYTES

USUAL_INSTANT: Final[Instant] = 1_700_000_000 * SECOND
USUAL_SEQUENCE: Final = 100_000
USUAL_DELAY_NS: Final = 10_000_000
USUAL_HASH: Final = 2**31
USUAL_RATE_MSGS_PER_S: Final = 1000.0
"""Numbers of realistic size, for computing the length of a message on the wire."""


class UnreachableSize(ValueError):
    """The specified message size is smaller than the smallest possible message."""


class DatagramSource:
    """All messages of one publisher, computed on demand."""

    def __init__(
        self,
        name: str,
        broker: str,
        attributes: dict[str, str | int | float | bool],
        message_bytes: int,
        parameters: DatagramParameters,
        seed: int,
    ) -> None:
        """``message_bytes`` of 0 leaves out the padding.

        Raises ``UnreachableSize`` or ``InvalidAttributeSpec``.
        """
        self.name = name
        self._address = address_of(name, broker)
        self._hash = xxh3_64_intdigest(name.encode())
        self._message_bytes = message_bytes
        self._parameters = parameters
        self._values = {
            key: value_function(value, f"{seed}/{name}/{key}") for key, value in attributes.items()
        }
        self._payload_bytes: dict[tuple[int, ...], int] = {}
        self.payload(0)

    @property
    def producer_hash(self) -> int:
        """The publisher in the identity of a message."""
        return self._hash

    def attributes(self, number: int) -> dict[str, Attribute]:
        return {key: value(number) for key, value in self._values.items()}  # type: ignore[misc]

    def payload(self, number: int) -> bytes:
        return self.padded(number, self.attributes(number))

    def padded(self, number: int, attributes: dict[str, Attribute]) -> bytes:
        """The payload of a message whose attributes are known already."""
        identity = IDENTITY.pack(self._hash, number)
        if not self._message_bytes:
            return identity
        lengths = tuple(len(each) for each in attributes.values() if isinstance(each, str))
        size = self._payload_bytes.get(lengths)
        if size is None:
            size = self._payload_bytes[lengths] = self._padding(attributes)
        return identity.ljust(size, b".")

    def _padding(self, attributes: dict[str, Attribute]) -> int:
        size = self._message_bytes - self._length_without_payload(attributes)
        if size < IDENTITY.size:
            least = self._message_bytes - size + IDENTITY.size
            raise UnreachableSize(
                f"publisher {self.name!r}: message_bytes = {self._message_bytes} is too small: a "
                f"message with these attributes has at least {least} bytes"
            )
        return size

    def _length_without_payload(self, attributes: dict[str, Attribute]) -> int:
        """The length of a datagram with one message."""
        tag = FlowTag(self._address, 1, USUAL_SEQUENCE, USUAL_DELAY_NS, USUAL_HASH)
        sample = Publication(
            self._address,
            USUAL_INSTANT,
            USUAL_SEQUENCE,
            USUAL_INSTANT,
            USUAL_RATE_MSGS_PER_S,
            bytes(ENCODING_BYTES * self._parameters.record_messages),
            () if self._parameters.law == "none" else (tag,),
            attributes,
            b"",
        )
        return len(datagram_of([encode_message(sample)]))
