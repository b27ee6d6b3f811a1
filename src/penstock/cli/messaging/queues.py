"""Work queues on the command line: ``send``, ``receive`` and ``queue ls|show|purge|add|retire``.

The main program mounts ``send`` and ``receive`` as commands and ``queue`` as a group of commands.
Every command takes ``--url``, or reads ``PENSTOCK_URL``.
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
    str | None, Parameter(help="The broker, penstock://host:port (default: PENSTOCK_URL).")
]
Json = Annotated[bool, Parameter(help="Print one line of JSON for each item.")]

queue = App(name="queue", help="List, show, purge and change queues and alias queues.")


@asynccontextmanager
async def _queues(url: str | None) -> AsyncIterator[Queues]:
    async with connect(url) as client:
        yield client.queues


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to completion; reports errors in one line."""
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
    """Send to a queue or an alias queue (NAME or NAME@BROKER); wait until it is durable.

    With --group, send to groups, and wait until every broker with members has it; the first
    argument is then the message.

    Parameters
    ----------
    queue
        A queue or an alias queue, NAME or NAME@BROKER; with --group, the message.
    payload
        The message; "-" or nothing reads it from standard input.
    group
        A group; may be given several times. @NAME is the inbox of one client.
    must_exist
        Fail if a group has no members.
    attr
        An attribute: name=text, or name:type=value with int, float, bool, str or bytes (base64).
    priority
        0 to 9; 9 is delivered first.
    ttl_s
        The message expires after this many seconds.
    lines
        Send every line of standard input as a message.
    """
    attributes = parse_attributes(attr)
    if group:
        if payload is not None:
            raise UserError("with --group the message is the only positional argument", MISUSED)
        from penstock.cli.messaging.groups import send_to_groups

        options = {"must_exist": must_exist, "lines": lines, "json": json}
        _run(send_to_groups(group, queue, attributes, url=url, **options))
        return
    if queue is None:
        raise UserError("name a queue, or name groups with --group", MISUSED)
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
    """Receive from a queue; print and acknowledge each message.

    Parameters
    ----------
    queue
        The queue.
    selector
        Only messages whose attributes match.
    count
        Stop after this many messages; 0 means no limit.
    wait_s
        Stop when no message has arrived for this many seconds.
    prefetch
        How many messages may be in flight to this client, unacknowledged.
    browse
        Print the messages that are queued without taking them.
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
    """List all queues and alias queues of a broker, with depth and rates."""
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
    """Show the state of one queue or alias queue."""
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
    """Add a destination (QUEUE@BROKER) to a running alias queue."""
    _run(_change(alias, destination, url, json, retire=False))


@queue.command(name="retire")
def retire_destination(
    alias: str, destination: str, *, url: Url = None, json: Json = False
) -> None:
    """Remove a destination (QUEUE@BROKER) from a running alias queue."""
    _run(_change(alias, destination, url, json, retire=True))


async def _change(
    alias: str, destination: str, url: str | None, json: bool, *, retire: bool
) -> None:
    async with _queues(url) as queues:
        change = queues.retire if retire else queues.add_destination
        left = await change(alias, destination)
    _say(json, {"alias": alias, "destinations": left}, f"{alias} -> {', '.join(left) or 'none'}")
