"""Asking a gossip peer on this machine what holds its publications back.

The question and the answer are datagrams of gossip's own protocol, so a peer needs no other port;
it answers only to addresses of its own machine.
"""

from __future__ import annotations

import asyncio
from secrets import randbits
from typing import Any

import msgspec

from penstock.client.errors import DeadlineExceeded
from penstock.client.gossip.endpoint import parse_address
from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import Decoder, encode_joined
from penstock.core.message import Message
from penstock.services.gossip.messages import GOSSIP_MESSAGES, Why, WhyRequest


class _Question(asyncio.DatagramProtocol):
    """Waits for one answer."""

    def __init__(self, token: int, answer: asyncio.Future[Why]) -> None:
        self._token = token
        self._answer = answer
        self._decoder: Decoder[Message] = Decoder(GOSSIP_MESSAGES)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        try:
            message = self._decoder.decode(data)
        except MalformedMessage:
            return
        if isinstance(message, Why) and message.token == self._token and not self._answer.done():
            self._answer.set_result(message)

    def error_received(self, exc: Exception) -> None:
        if not self._answer.done():
            self._answer.set_exception(exc)


async def ask_why(peer: str, group: str = "default", *, deadline_s: float = 2.0) -> Why:
    """Ask a peer on this machine what holds its publications back."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Why] = loop.create_future()
    token = randbits(31)
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Question(token, answer), remote_addr=parse_address(peer)
    )
    try:
        transport.sendto(encode_joined(WhyRequest(group, token)))
        return await asyncio.wait_for(answer, deadline_s)
    except TimeoutError:
        raise DeadlineExceeded(
            f"{peer} did not say why within {deadline_s:g} s: no peer of group {group!r} listens "
            f"there, or it is not on this machine"
        ) from None
    except ConnectionRefusedError:
        raise DeadlineExceeded(f"no process listens at {peer}: is the peer running?") from None
    finally:
        transport.close()


async def peer_document(address: str, group: str, *, deadline_s: float) -> dict[str, Any]:
    """The same as a document, with the name of the service that explains it."""
    document = msgspec.structs.asdict(await ask_why(address, group, deadline_s=deadline_s))
    del document["token"]
    return {"service": "gossip", **document}
