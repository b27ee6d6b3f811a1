"""The base of everything that travels on a link.

Messages are frozen structs that encode as MessagePack arrays with a tag.  Values that are large
and columnar (a batch, a frame) stand in fields of their own types; the wire format carries them
beside the head, as attachments, without copying them into it (penstock.content.wire).
"""

from __future__ import annotations

import msgspec


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """A message between brokers, or between a client and a broker."""
