"""``penstock pub`` and ``penstock sub`` with ``--service datagram``, and ``penstock why``."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.client.client import connect
from penstock.client.datagram.subscription import DatagramMessage

SETTLING_S = 0.5
"""How long a new publisher waits before it sends: it must be announced to the overlay and learn the
subscriptions.  A message sent earlier reaches no subscriber, and the command never retries."""


async def publish(
    rows: Iterable[tuple[dict[str, Any], bytes]],
    name: str | None,
    url: str | None,
    deadline_s: float,
) -> None:
    """Publish each row, as fast as the flows allow."""
    async with connect(url, deadline_s=deadline_s) as client, client.datagram(name) as datagrams:
        await asyncio.sleep(SETTLING_S)
        lines = iter(rows)
        # Reading standard input may block; the rate control and ``penstock why`` must go on.
        while (row := await asyncio.to_thread(next, lines, None)) is not None:
            await datagrams.publish(*row, deadline_s=deadline_s)


async def print_messages(
    selector: str,
    count: float,
    for_s: float,
    url: str | None,
    deadline_s: float,
    show: Callable[[DatagramMessage], str],
) -> None:
    """Print messages until the limit is reached."""
    async with (
        connect(url, deadline_s=deadline_s) as client,
        client.datagram(publishes=False) as datagrams,
        datagrams.subscribe(selector) as subscription,
    ):
        try:
            async with asyncio.timeout(None if math.isinf(for_s) else for_s):
                async for message in subscription:
                    print(show(message), flush=True)
                    count -= 1
                    if count <= 0:
                        return
        except TimeoutError:
            return


def text(message: DatagramMessage) -> str:
    """A message as a line of text."""
    attributes = " ".join(f"{name}={value!r}" for name, value in message.attributes.items())
    body = message.payload.decode(errors="replace")
    return f"{message.time:%H:%M:%S.%f} {message.publisher} {attributes} | {body}"


def json_line(body: Callable[[bytes], dict[str, str]]) -> Callable[[DatagramMessage], str]:
    """Formats a message as a line of JSON; ``body`` formats its payload."""

    def write(message: DatagramMessage) -> str:
        document = {
            "publisher": message.publisher,
            "sequence": message.sequence,
            "time": message.time.isoformat(),
            "attributes": message.attributes,
            **body(message.payload),
        }
        return msgspec.json.encode(document).decode()

    return write
