"""``penstock why``: what slows a publisher down."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.cli.errors import told_in_one_line
from penstock.client.client import connect
from penstock.client.errors import PenstockError


def why(
    pubend: str, /, *, url: str | None = None, deadline: float = 10.0, json: bool = False
) -> None:
    """Say what slows a pubend down: which broker, link or subscriber, since when, which rule.

    Parameters
    ----------
    pubend
        The stream; ask the broker that hosts it.
    url
        Where that broker is, penstock://host:port; PENSTOCK_URL without it.
    deadline
        Seconds to wait for the broker.
    json
        Print everything that is known as JSON.
    """
    with told_in_one_line(PenstockError, ValueError):
        document = asyncio.run(_ask(pubend, url, deadline))
    print(msgspec.json.encode(document).decode() if json else _text(document))


async def _ask(pubend: str, url: str | None, deadline: float) -> dict[str, Any]:
    async with connect(url, deadline_s=deadline) as client:
        return await client.why(pubend)


def _text(document: dict[str, Any]) -> str:
    name, observed = document["pubend"], document["observed_msgs_per_s"]
    if not document["throttled"]:
        return f"{name}: nothing slows it down; it publishes {observed:.0f} msg/s"
    lines = [
        f"{name}: may publish {document['allowed_msgs_per_s']:.1f} msg/s and publishes "
        f"{observed:.1f}, limited for {document['for_s']:.0f} s",
        f"  rule:       {document['rule']}",
        f"  cause:      {document['cause']}",
        f"  waiting:    {document['publications_waiting']} publications",
    ]
    if document["bottleneck_link"]:
        lines.append(f"  bottleneck: link {document['bottleneck_link']}")
    return "\n".join(lines)
