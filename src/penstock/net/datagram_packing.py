"""Messages in datagrams: several in one, none in two.

A message's envelope says how long it is (penstock.content.wire), so a datagram is nothing but
messages one after another, as many as fit.  Whatever does not read as such is dropped whole: a
datagram that was damaged once cannot be believed in its other parts.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.content.columns import Buffer
from penstock.content.wire import ENVELOPE, Decoder, MalformedMessage, body_length
from penstock.core.message import Message


def packed(messages: Iterable[bytes], limit_bytes: int) -> list[bytes]:
    """Datagrams that carry these encoded messages in their order.

    A message larger than the limit goes alone; whether it arrives is the network's affair.
    """
    datagrams: list[bytes] = []
    pieces: list[bytes] = []
    used = 0
    for message in messages:
        if pieces and used + len(message) > limit_bytes:
            datagrams.append(b"".join(pieces))
            pieces, used = [], 0
        pieces.append(message)
        used += len(message)
    if pieces:
        datagrams.append(b"".join(pieces))
    return datagrams


def unpacked(datagram: Buffer, decoder: Decoder[Message]) -> list[Message]:
    """The messages of a datagram; raises ``MalformedMessage``."""
    view = memoryview(datagram)
    messages: list[Message] = []
    at = 0
    while at < len(view):
        if len(view) - at < ENVELOPE.size:
            raise MalformedMessage(f"{len(view) - at} bytes are too few for a message")
        end = at + ENVELOPE.size + body_length(view[at:])
        if end > len(view):
            raise MalformedMessage("a message runs over the end of the datagram")
        try:
            messages.append(decoder.decode(view[at:end]))
        except (OverflowError, RecursionError) as error:
            raise MalformedMessage(str(error)) from None
        at = end
    return messages
