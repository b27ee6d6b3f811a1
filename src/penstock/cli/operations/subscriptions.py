"""``penstock subscriptions``: lists a broker's durable subscriptions, and deletes one.

A durable subscription without a reader keeps the logs of everything that it reads.  A forgotten one
would fill the disk, so the list starts with those that are furthest behind.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from penstock.cli.errors import UserError, told_in_one_line
from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError


def subscriptions(
    *,
    delete: str | None = None,
    url: str | None = None,
    deadline: float = 10.0,
    json: bool = False,
) -> None:
    """List a broker's durable subscriptions, with or without a reader, or delete one.

    Parameters
    ----------
    delete
        Delete the subscription of this name: its position is discarded and the logs are released.
    url
        The broker, penstock://host:port (default: PENSTOCK_URL).
    deadline
        Seconds to wait for the answer.
    json
        Print everything as JSON.
    """
    with told_in_one_line(PenstockError, OSError, ValueError):
        found = asyncio.run(_ask(delete, url, deadline))
    if delete is not None:
        print(f"deleted {delete!r}; the logs that it kept are released")
    elif json:
        print(msgspec.json.encode(found).decode())
    else:
        _show(found)


async def _ask(delete: str | None, url: str | None, deadline_s: float) -> list[dict[str, Any]]:
    async with connect(url, deadline_s=deadline_s) as client:
        found = await _durable(client)
        if delete is not None:
            if delete not in {each["name"] for each in found}:
                names = ", ".join(sorted(each["name"] for each in found)) or "none"
                raise UserError(f"the broker has no durable subscription {delete!r}: {names}")
            await client.delete_subscription(delete)
        return found


async def _durable(client: Client) -> list[dict[str, Any]]:
    service = (await client.status())["services"]["guaranteed"]
    found: list[dict[str, Any]] = service["durable_subscriptions"]
    return found


def _show(found: list[dict[str, Any]]) -> None:
    table = Table("name", "selector", "reader", "behind", "keeps the logs", box=None)
    for each in found:
        absent = f"none for {each['absent_for_s']:.0f} s"
        table.add_row(
            each["name"],
            each["selector"],
            each["session"] or absent,
            f"{each['behind_s']:.0f} s",
            "yes" if each["holds_logs"] else "no, it was away too long",
        )
    Console().print(table if found else "no durable subscriptions")
