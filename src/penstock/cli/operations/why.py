"""``penstock why``: what slows a sender down, or why a reader is behind.

The broker asks its services in turn; the answer says which one knew the name, and that service's
description turns it into text.  A gossip peer has no broker and is asked itself, by its address.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.cli.errors import told_in_one_line
from penstock.client.client import connect
from penstock.client.errors import PenstockError
from penstock.services.registry import description


def why(
    name: str,
    /,
    *,
    group: str = "default",
    url: str | None = None,
    deadline: float = 10.0,
    json: bool = False,
) -> None:
    """Say what slows a sender down, by which rule and since when; or why a reader is behind.

    Parameters
    ----------
    name
        A pubend, a queue, an alias queue or one of its producers, a client that sends to groups or
        publishes datagrams, or a subscription: ask the broker that it is connected to.  Or the
        address of a gossip peer on this machine, host:port.
    group
        Which group of a gossip peer.
    url
        Where the broker is, penstock://host:port (default: PENSTOCK_URL).
    deadline
        Seconds to wait for the answer.
    json
        Print everything that is known as JSON.
    """
    with told_in_one_line(PenstockError, OSError, ValueError):
        document = asyncio.run(_ask(name, group, url, deadline))
    if json:
        print(msgspec.json.encode(document).decode())
    else:
        print(description(document["service"]).why_text(document))


async def _ask(name: str, group: str, url: str | None, deadline_s: float) -> dict[str, Any]:
    host, _, port = name.rpartition(":")
    if host and port.isdigit():
        # A peer brings its whole machinery: it is imported only if a peer is asked.
        from penstock.client.gossip.why import peer_document

        return await peer_document(name, group, deadline_s=deadline_s)
    async with connect(url, deadline_s=deadline_s) as client:
        return await client.why(name, deadline_s=deadline_s)
