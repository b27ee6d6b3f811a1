"""Work queues on the command line: ``send``, ``receive`` and ``queue ls|show|purge|add|retire``.

The main program mounts ``send`` and ``receive`` as commands and ``queue`` as a group of commands.
Every command takes ``--url``, or the broker from ``PENSTOCK_URL``.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.messaging.attributes import parse_attributes, shown
from penstock.client.client import connect
from penstock.client.errors import DeadlineExceeded, InvalidAttribute, PenstockError
from penstock.client.queues.message import QueueMessage
from penstock.client.queues.queues import PREFETCH, Queues
from penstock.content.rows.columns import AttributeValue
from penstock.services.queues.messages import DEFAULT_PRIORITY

Url = Annotated[
    str | None, Parameter(help="Where the broker is, penstock://host:port; or PENSTOCK_URL.")
]
Json = Annotated[bool, Parameter(help="Print JSON, one document a line.")]

queue = App(name="queue", help="Look at queues and alias queues, and change them.")


@asynccontextmanager
async def _queues(url: str | None) -> AsyncIterator[Queues]:
    async with connect(url) as client:
        yield client.queues


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; what goes wrong is told in one line."""
    with told_in_one_line(PenstockError, InvalidAttribute, ValueError):
        asyncio.run(work)


def send(
    queue: str | None = None,
    payload: str | None = None,
    *,
    group: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    must_exist: bool = False,
    attr: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    priority: int = DEFAULT_PRIORITY,
    ttl_s: float | None = None,
    lines: bool = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Send to a queue or an alias queue (name or name@broker); wait until it is durable.

    With --group, send to groups, and wait until every broker with members has it; what stands first
    is then the message.

    Parameters
    ----------
    queue
        Where to.
    payload
        The message; "-" or nothing reads it from the standard input.
    group
        A group; several may be named, and @NAME is the inbox of one client.
    must_exist
        Fail if a group has no members, instead of sending to nobody.
    attr
        An attribute: name=text, or name:type=value with int, float, bool, str or bytes (base64).
    priority
        0 to 9; 9 is handed out first.
    ttl_s
        After so many seconds the message expires.
    lines
        Every line of the standard input is a message of its own.
    """
    attributes = parse_attributes(attr)
    if group:
        if payload is not None:
            raise UserError("with --group the message stands first, and nothing after it", MISUSED)
        from penstock.cli.messaging.groups import send_to_groups

        options = {"must_exist": must_exist, "lines": lines, "json": json}
        _run(send_to_groups(group, queue, attributes, url=url, **options))
        return
    if queue is None:
        raise UserError("name a queue, or groups with --group", MISUSED)
    _run(_send(queue, payload, attributes, priority, ttl_s, lines, url, json))


async def _send(
    queue: str,
    payload: str | None,
    attributes: dict[str, AttributeValue],
    priority: int,
    ttl_s: float | None,
    lines: bool,
    url: str | None,
    json: bool,
) -> None:
    async with _queues(url) as queues:
        if lines:
            sender = queues.sender(queue, priority=priority, time_to_live_s=ttl_s)
            count = 0
            for line in sys.stdin.buffer:
                await sender.send(attributes, line.rstrip(b"\n"))
                count += 1
            await sender.flush()
            _say(json, {"queue": queue, "sent": count}, f"{count} messages sent to {queue}")
            return
        body = sys.stdin.buffer.read() if payload in (None, "-") else str(payload).encode()
        receipt = await queues.send(
            queue, attributes, body, priority=priority, time_to_live_s=ttl_s
        )
        document = {"queue": queue, "sent": 1, "position": receipt.tick}
        _say(json, document, f"sent to {queue}, position {receipt.tick}")


def _say(json: bool, document: object, text: str) -> None:
    print(msgspec.json.encode(document).decode() if json else text)


def receive(
    queue: str,
    *,
    selector: str = "",
    count: int = 0,
    wait_s: float | None = None,
    prefetch: int = PREFETCH,
    browse: bool = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Receive from a queue, printing and acknowledging each message.

    Parameters
    ----------
    queue
        Where from.
    selector
        Only messages whose attributes match.
    count
        Stop after so many; 0 goes on for ever.
    wait_s
        Stop when nothing came for so long.
    prefetch
        How many may be on their way to us and not acknowledged.
    browse
        Look at what waits, and take nothing.
    """
    if browse:
        _run(_browse(queue, selector, count or 100, url, json))
    else:
        _run(_receive(queue, selector, count, wait_s, prefetch, url, json))


async def _receive(
    queue: str,
    selector: str,
    count: int,
    wait_s: float | None,
    prefetch: int,
    url: str | None,
    json: bool,
) -> None:
    async with _queues(url) as queues:
        wanted = min(prefetch, count) if count else prefetch
        async with queues.receive(queue, selector=selector, prefetch=wanted) as receiver:
            left = count
            try:
                waiting = {} if wait_s is None else {"deadline_s": wait_s}
                async for message in receiver.messages(**waiting):
                    _print_message(message, json)
                    message.ack()
                    left -= 1
                    if not left:
                        break
            except DeadlineExceeded:
                if count:
                    raise
            await receiver.flush()


def _print_message(message: QueueMessage, json: bool) -> None:
    again = " (again)" if message.redelivered else ""
    _print_row(message.position, message.attributes, message.payload, json, again)


def _print_row(
    position: int, attributes: dict[str, Any], payload: bytes, json: bool, again: str = ""
) -> None:
    if json:
        document: dict[str, Any] = {
            "position": position,
            "attributes": {name: shown(value) for name, value in attributes.items()},
            "redelivered": bool(again),
        }
        try:
            document["payload"] = payload.decode()
        except UnicodeDecodeError:
            document["payload_base64"] = base64.b64encode(payload).decode()
        print(msgspec.json.encode(document).decode(), flush=True)
        return
    words = [f"{name}={value}" for name, value in attributes.items()]
    print(f"{position}{again}", *words, payload.decode(errors="replace"), flush=True)


async def _browse(queue: str, selector: str, limit: int, url: str | None, json: bool) -> None:
    async with _queues(url) as queues:
        for position, attributes, payload in await queues.browse(
            queue, selector=selector, limit=limit
        ):
            _print_row(position, attributes, payload, json)


@queue.command(name="ls")
def list_queues(*, url: Url = None, json: Json = False) -> None:
    """All queues and alias queues of a broker, with their depth and rates."""
    _run(_list_queues(url, json))


async def _list_queues(url: str | None, json: bool) -> None:
    async with _queues(url) as queues:
        found = await queues.status()
    if json:
        print(msgspec.json.encode(found).decode())
        return
    table = Table(box=None, header_style="bold")
    table.add_column("queue")
    table.add_column("kind")
    for column in ("messages", "waiting", "in/s", "out/s", "consumers"):
        table.add_column(column, justify="right")
    for each in found:
        left = each.get("consumed_msgs_per_s", each.get("forwarded_msgs_per_s"))
        table.add_row(
            each["name"],
            each["kind"],
            str(each["messages"]),
            str(each["waiting"]),
            str(each["received_msgs_per_s"]),
            str(left),
            str(each.get("consumers", "–")),
        )
    Console().print(table)


@queue.command(name="show")
def show_queue(name: str, *, url: Url = None, json: Json = False) -> None:
    """Everything that is known of one queue or alias queue."""
    _run(_show_queue(name, url, json))


async def _show_queue(name: str, url: str | None, json: bool) -> None:
    async with _queues(url) as queues:
        (found,) = await queues.status(name)
    if json:
        print(msgspec.json.encode(found).decode())
        return
    table = Table(box=None, show_header=False)
    for key, value in found.items():
        if key != "destinations":
            table.add_row(key.replace("_", " "), str(value))
    for each in found.get("destinations", ()):
        why = each["gets_nothing_because"]
        state = f"gets nothing: {why}" if why else f"weight {each['weight']}, load {each['load']}"
        table.add_row(each["address"], state)
    Console().print(table)


@queue.command(name="purge")
def purge_queue(name: str, *, url: Url = None, json: Json = False) -> None:
    """Discard every message that waits in a queue or an alias queue."""
    _run(_purge_queue(name, url, json))


async def _purge_queue(name: str, url: str | None, json: bool) -> None:
    async with _queues(url) as queues:
        purged = await queues.purge(name)
    _say(json, {"queue": name, "purged": purged}, f"{purged} messages discarded from {name}")


@queue.command(name="add")
def add_destination(alias: str, destination: str, *, url: Url = None, json: Json = False) -> None:
    """Give an alias queue one more destination (queue@broker), while it runs."""
    _run(_change(alias, destination, url, json, retire=False))


@queue.command(name="retire")
def retire_destination(
    alias: str, destination: str, *, url: Url = None, json: Json = False
) -> None:
    """Take a destination (queue@broker) from an alias queue, while it runs."""
    _run(_change(alias, destination, url, json, retire=True))


async def _change(
    alias: str, destination: str, url: str | None, json: bool, *, retire: bool
) -> None:
    async with _queues(url) as queues:
        change = queues.retire if retire else queues.add_destination
        left = await change(alias, destination)
    _say(json, {"alias": alias, "destinations": left}, f"{alias} -> {', '.join(left) or 'nobody'}")
