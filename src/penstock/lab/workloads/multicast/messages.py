"""The messages of a sender to groups: the n-th one is a function of n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.content.codec.size import encoded_size
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeValue
from penstock.lab.workloads.message_source import USUAL_TICK, MessageSource, SourceSpec
from penstock.lab.workloads.multicast.tables import GroupSender
from penstock.services.multicast.messages import Destination, Multicast

USUAL_NUMBER: Final = 10_000
"""A sequence number, and a position in a stream, of realistic size."""


class GroupMessages(MessageSource):
    """All messages of one sender, computed on demand.

    A message has its size in bytes on the last full link of its path: there it names no price any
    more.  Before it, it has five bytes more for each full link ahead.
    """

    def __init__(self, sender: GroupSender, seed: int, known_as: str = "") -> None:
        """Brokers know the sender as ``known_as``, by default its own name.

        Raises ``UnreachableSize`` or ``InvalidAttributeSpec``.
        """
        self._sample = Multicast(
            sender.broker,
            USUAL_TICK,
            known_as or sender.name,
            USUAL_NUMBER,
            sender.groups,
            (Destination(sender.broker, 1 << 31, USUAL_NUMBER, USUAL_NUMBER),)
            * sender.wire_receivers,
            0.5,
            (),
            2,
            Batch.from_rows([({}, b"")]),
        )
        spec = SourceSpec(
            producer=sender.name,
            pubend="",
            attributes=dict(sender.attributes),
            payload_bytes=sender.payload_bytes,
            wire_bytes=sender.wire_bytes,
        )
        super().__init__(spec, seed)

    def _wire_size(self, attributes: Mapping[str, AttributeValue], payload_bytes: int) -> int:
        batch = Batch.from_rows([(attributes, bytes(payload_bytes))])
        fields = {name: getattr(self._sample, name) for name in self._sample.__struct_fields__}
        return encoded_size(Multicast(**{**fields, "batch": batch}))
