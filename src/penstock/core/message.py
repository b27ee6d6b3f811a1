"""The base of everything that travels on a link.

Messages are frozen structs that encode as MessagePack arrays with a tag.  Values that are large
and columnar (a batch, a frame) stand in fields of their own types; the wire format carries them
beside the head, as attachments, without copying them into it (penstock.content.codec.wire).
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

import msgspec


class Right(Enum):
    """What a client must be allowed to do so that a message of its is carried out."""

    USE = "use"
    ADMINISTER = "administer"
    """Change or delete what belongs to others, or how the broker runs."""


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """A message between brokers, or between a client and a broker."""

    right: ClassVar[Right] = Right.USE

    @property
    def needed_right(self) -> Right:
        """The right that this message needs; of most messages it is that of their type."""
        return self.right
