"""``penstock sinks``: lists the sinks that a broker remembers, and deletes retired ones.

A broker remembers the last step of every sink, so that a step that is repeated is not published
twice, and it never drops one by itself.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import msgspec
from rich.console import Console
from rich.table import Table

from penstock.cli.errors import UserError, told_in_one_line
from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError
from penstock.client.guaranteed.sink import KnownSinks
from penstock.core.clock import SECOND, Instant
from penstock.core.duration_text import parse_duration


def sinks(
    *,
    delete: str | None = None,
    delete_unused_for: str | None = None,
    url: str | None = None,
    deadline: float = 30.0,
    json: bool = False,
) -> None:
    """List the sinks that a broker remembers, the longest unused first, or delete retired ones.

    A sink is what publishes in numbered steps: a Spark query that writes to Penstock, or
    client.sink(name). Deleting one is safe when its query or program does not run again: a step
    that it repeats afterwards is published twice.

    Parameters
    ----------
    delete
        Delete the sink of this name.
    delete_unused_for
        Delete every sink that has not committed for this long (90d, 12h, 30m).
    url
        The broker, penstock://host:port (default: PENSTOCK_URL).
    deadline
        Seconds to wait for an answer.
    json
        Print everything as JSON.
    """
    with told_in_one_line(PenstockError, OSError, ValueError):
        if delete is not None:
            asyncio.run(_delete(delete, url, deadline))
            print(f"deleted {delete!r}")
        elif delete_unused_for is not None:
            before = time.time_ns() - parse_duration(delete_unused_for)
            for name in asyncio.run(_delete_unused(before, url, deadline)):
                print(f"deleted {name!r}")
        else:
            _show(asyncio.run(_list(url, deadline)), json=json)


async def _list(url: str | None, deadline_s: float) -> KnownSinks:
    async with connect(url, deadline_s=deadline_s) as client:
        return await client.sinks()


async def _delete(name: str, url: str | None, deadline_s: float) -> None:
    async with connect(url, deadline_s=deadline_s) as client:
        found = await client.sinks()
        names = [each.name for each in found.sinks]
        if name not in names and found.total == len(names):
            raise UserError(f"the broker knows no sink {name!r}: {', '.join(names) or 'none'}")
        await client.delete_sink(name)


async def _delete_unused(before: Instant, url: str | None, deadline_s: float) -> list[str]:
    """Delete what was used last before an instant; returns the names."""
    deleted: list[str] = []
    async with connect(url, deadline_s=deadline_s) as client:
        while names := await _unused(client, before):
            for name in names:
                await client.delete_sink(name)
            deleted += names
    return deleted


async def _unused(client: Client, before: Instant) -> list[str]:
    listed = (await client.sinks()).sinks
    return [each.name for each in listed if each.used_at < before and not each.publishing]


def _show(found: KnownSinks, *, json: bool) -> None:
    if json:
        print(msgspec.json.encode(found).decode())
        return
    table = Table("name", "pubend", "last step", "last used (UTC)", "", box=None)
    for each in found.sinks:
        table.add_row(
            each.name,
            each.pubend or "-",
            str(each.epoch) if each.epoch >= 0 else "-",
            _day_and_time(each.used_at),
            "is publishing" if each.publishing else "",
        )
    Console().print(table if found.sinks else "no sinks")
    if found.total > len(found.sinks):
        print(f"… and {found.total - len(found.sinks)} that were used later")
    print(f"{found.total} of at most {found.limit} (sink_limit)")


def _day_and_time(at: Instant) -> str:
    if not at:
        return "before this version"
    return datetime.fromtimestamp(at / SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
